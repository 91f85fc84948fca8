package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// pair is a certificate and its key, in PEM.
type pair struct {
	cert, key []byte
	tls       tls.Certificate
}

// newPair makes a self-signed certificate for a host name or address.
func newPair(t testing.TB, host string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
	if p.tls, err = tls.X509KeyPair(p.cert, p.key); err != nil {
		t.Fatal(err)
	}
	return p
}

// newTLSCluster is a fake cluster that speaks TLS with the certificate.
func newTLSCluster(t testing.TB, p pair, config *tls.Config, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	config.Certificates = []tls.Certificate{p.tls}
	return newCluster(t, 1, append(options, kfake.TLS(config), kfake.SeedTopics(2, "secured"))...)
}

func TestReadWithSASLAndTLS(t *testing.T) {
	t.Parallel()
	server := newPair(t, "127.0.0.1")
	users := []kfake.Opt{kfake.EnableSASL()}
	mechanisms := []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
	for _, m := range mechanisms {
		users = append(users, kfake.Superuser(m, "alice", "pa,ss=w\"ord"))
	}
	plaintext := newCluster(t, 1, append(users, kfake.SeedTopics(2, "secured"))...)
	encrypted := newTLSCluster(t, server, &tls.Config{}, users...)
	for _, m := range mechanisms {
		for protocol, c := range map[string]*kfake.Cluster{"SASL_PLAINTEXT": plaintext, "SASL_SSL": encrypted} {
			t.Run(protocol+" "+m, func(t *testing.T) {
				t.Parallel()
				config := testConfig(c, "secured")
				config.Security = Security{Protocol: protocol, Mechanism: m, Username: "alice", Password: "pa,ss=w\"ord", CAPEM: string(server.cert)}
				plan, coverage, _ := readAll(t, config)
				wantComplete(t, coverage)
				if plan.NumPartitions != 2 {
					t.Errorf("%d partitions, want 2", plan.NumPartitions)
				}

				config.Security.Password = "wrong-secret"
				_, err := newSource(t, config).Plan(t.Context())
				var auth *AuthError
				if !errors.As(err, &auth) {
					t.Errorf("wrong password: error %v, want an AuthError", err)
				}
				wantError(t, err, `"alice"`, m, "user name or password")
				if err != nil && strings.Contains(err.Error(), "wrong-secret") {
					t.Errorf("error %q shows the password", err)
				}
			})
		}
	}
}

// kfake drops the connection of a wrong password; a real broker answers with an error and a message.
func TestAuthenticationErrorOfARealBroker(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "right"))
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		answer.ErrorCode = int16(codeSASLFailed)
		answer.ErrorMessage = new("Authentication failed: Invalid username or password")
		return answer, nil, true
	})
	config := testConfig(c, "any")
	config.Security = Security{Protocol: "SASL_PLAINTEXT", Mechanism: "PLAIN", Username: "alice", Password: "wrong"}
	_, err := newSource(t, config).Plan(t.Context())
	wantError(t, err, `authenticating as "alice" with PLAIN at 127.0.0.1:`, "Invalid username or password")
}

func TestMechanismNotOffered(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "right"))
	c.ControlKey(int16(kmsg.SASLHandshake), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.SASLHandshakeResponse)
		answer.ErrorCode, answer.SupportedMechanisms = int16(codeUnsupportedMechanism), []string{"GSSAPI", "SCRAM-SHA-512"}
		return answer, nil, true
	})
	config := testConfig(c, "any")
	config.Security = Security{Protocol: "SASL_PLAINTEXT", Mechanism: "PLAIN", Username: "alice", Password: "right"}
	_, err := newSource(t, config).Plan(t.Context())
	wantError(t, err, "PLAIN", `"SCRAM-SHA-512"`, "sasl.mechanism")
}

func TestSecurityMismatchIsNamed(t *testing.T) {
	t.Parallel()
	server := newPair(t, "127.0.0.1")
	plaintext := newCluster(t, 1, kfake.SeedTopics(2, "secured"))
	encrypted := newTLSCluster(t, server, &tls.Config{})
	sasl := newCluster(t, 1, kfake.SeedTopics(2, "secured"), kfake.EnableSASL())
	otherName := newTLSCluster(t, newPair(t, "kafka.example"), &tls.Config{})
	wantsClient := newTLSCluster(t, server, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	tlsAlert := silentPort(t, 0x15, 3, 3, 0, 2, 2, 70) // a Java broker's answer to plain text: fatal, protocol version
	ca := string(server.cert)
	for _, test := range []struct {
		name     string
		servers  []string
		security Security
		want     []string
	}{
		{"TLS to plaintext", plaintext.ListenAddrs(), Security{Protocol: "SSL", CAPEM: ca}, []string{"does not speak TLS", "security.protocol"}},
		{"plaintext to TLS", encrypted.ListenAddrs(), Security{}, []string{"TLS", "SSL or SASL_SSL"}},
		{"plaintext to a Java broker's TLS", []string{tlsAlert}, Security{}, []string{"speaks TLS", "SSL or SASL_SSL"}},
		{"no SASL where it is needed", sasl.ListenAddrs(), Security{}, []string{"SASL"}},
		{"unknown authority", encrypted.ListenAddrs(), Security{Protocol: "SSL"}, []string{"unknown authority", "ssl.ca.location"}},
		{"another host's certificate", otherName.ListenAddrs(), Security{Protocol: "SSL", CAPEM: ca}, []string{"ssl.endpoint.identification.algorithm"}},
		{"no client certificate", wantsClient.ListenAddrs(), Security{Protocol: "SSL", CAPEM: ca}, []string{"ssl.certificate.location"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := testConfig(plaintext, "secured")
			config.BootstrapServers, config.Security, config.ConnectTimeout = test.servers, test.security, 20*time.Second
			start := time.Now()
			_, err := newSource(t, config).Plan(t.Context())
			wantError(t, err, test.want...)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v of the %v allowed for connecting, want it told sooner", took, config.ConnectTimeout)
			}
		})
	}
}

func TestTLSVerification(t *testing.T) {
	t.Parallel()
	client, server := newPair(t, "client"), newPair(t, "kafka.example")
	c := newTLSCluster(t, server, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	files := t.TempDir()
	write := func(name string, data ...[]byte) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, []byte(strings.Join([]string{string(data[0]), string(data[len(data)-1])}, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca, cert, key, store := write("ca.pem", server.cert), write("cert.pem", client.cert), write("key.pem", client.key), write("store.pem", client.key, client.cert)
	for _, test := range []struct {
		name     string
		security Security
		want     string // in the error; "": none
	}{
		{"name checked", Security{CAFile: ca, CertFile: cert, KeyFile: key}, "ssl.endpoint.identification.algorithm"},
		{"name not checked", Security{CAFile: ca, CertFile: cert, KeyFile: key, SkipHostname: true}, ""},
		{"one file for key and certificate", Security{CAFile: ca, KeyFile: store, SkipHostname: true}, ""},
		{"chain still checked", Security{CAPEM: string(client.cert), CertFile: cert, KeyFile: key, SkipHostname: true}, "unknown authority"},
		{"nothing checked", Security{CertPEM: string(client.cert), KeyPEM: Secret(client.key), SkipVerify: true}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := testConfig(c, "secured")
			test.security.Protocol = "SSL"
			config.Security = test.security
			_, err := newSource(t, config).Plan(t.Context())
			switch {
			case test.want != "":
				wantError(t, err, test.want)
			case err != nil:
				t.Errorf("error %v, want none", err)
			}
		})
	}
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	client := newPair(t, "client")
	jks := filepath.Join(t.TempDir(), "trust.jks")
	if err := os.WriteFile(jks, []byte{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2}, 0o600); err != nil { // a JKS file's magic and version
		t.Fatal(err)
	}
	encryptedKey := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	for _, test := range []struct {
		name string
		c    Config
		want []string
	}{
		{"no server", Config{}, []string{"bootstrap server"}},
		{"protocol", Config{Security: Security{Protocol: "TLS"}}, []string{`"TLS"`, "SASL_SSL"}},
		{"mechanism missing", Config{Security: Security{Protocol: "SASL_SSL", Username: "u"}}, []string{"sasl.mechanism is not set"}},
		{"mechanism unknown", Config{Security: Security{Protocol: "SASL_SSL", Mechanism: "GSSAPI", Username: "u"}}, []string{`"GSSAPI"`, "SCRAM-SHA-512"}},
		{"user missing", Config{Security: Security{Protocol: "SASL_SSL", Mechanism: "PLAIN"}}, []string{"user name"}},
		{"SASL without a protocol", Config{Security: Security{Mechanism: "PLAIN", Username: "u"}}, []string{"security.protocol"}},
		{"JKS", Config{Security: Security{Protocol: "SSL", CAFile: jks}}, []string{"keytool", "openssl pkcs12", jks}},
		{"missing file", Config{Security: Security{Protocol: "SSL", CAFile: jks + ".no"}}, []string{jks + ".no"}},
		{"encrypted key", Config{Security: Security{Protocol: "SSL", CertPEM: string(client.cert), KeyPEM: Secret(encryptedKey)}}, []string{"encrypted", "openssl pkey"}},
		{"no certificate in the CA", Config{Security: Security{Protocol: "SSL", CAPEM: string(client.key)}}, []string{"no certificate"}},
		{"tail and since", Config{Range: Range{Tail: 1, Since: 1}}, []string{"tail", "since"}},
		{"since after until", Config{Range: Range{Since: 2000, Until: 1000}}, []string{"not before"}},
		{"max wait", Config{MaxWait: time.Minute, RequestTimeout: time.Second}, []string{"max wait"}},
		{"rate", Config{MaxRate: -1}, []string{"max rate"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name != "no server" {
				test.c.BootstrapServers = []string{"localhost"}
			}
			_, err := New(test.c)
			wantError(t, err, test.want...)
		})
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	config := Config{
		BootstrapServers: []string{"localhost:9092"},
		Security:         Security{Protocol: "SASL_SSL", Mechanism: "PLAIN", Username: "alice", Password: secret, KeyPEM: secret},
	}
	properties := Properties{"sasl.password": secret, "ssl.key.pem": secret}
	for _, value := range []any{config, &config, config.Security, config.Security.Password, properties} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %T shows the secret: %s", verb, value, text)
			}
		}
	}
	config.OnProgress = nil
	text, err := json.Marshal(config.Security)
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), "***") {
		t.Errorf("JSON %s (%v), want *** for the secrets", text, err)
	}
}
