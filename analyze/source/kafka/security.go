package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Secret is a string that no format verb and no encoder shows. Convert it to string to use it.
type Secret string

// Format writes "***", or nothing when s is empty, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		_, _ = f.Write([]byte("***"))
	}
}

// MarshalText returns what Format writes, for JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%v", s), nil }

// Security is how connections are encrypted and who is said to connect. The zero value is PLAINTEXT.
type Security struct {
	Protocol  string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL; "": PLAINTEXT
	Mechanism string // PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
	Username  string
	Password  Secret

	CAFile  string // PEM file of the authorities to trust; none: the system's
	CAPEM   string // the same, in place
	KeyFile string // PEM file of the client's private key, and of its certificates when CertFile is ""
	KeyPEM  Secret // the key in place
	// CertFile and CertPEM are the client's certificate chain, its own first.
	CertFile, CertPEM string

	SkipVerify   bool // trust any certificate
	SkipHostname bool // trust the authorities' certificates for any host name
}

// mechanisms are those that can be used, in the order of preference.
const mechanisms = "SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN"

func (s Security) usesTLS() bool  { return s.Protocol == "SSL" || s.Protocol == "SASL_SSL" }
func (s Security) usesSASL() bool { return s.Protocol == "SASL_PLAINTEXT" || s.Protocol == "SASL_SSL" }

func (s Security) validate() error {
	switch s.Protocol {
	case "", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return fmt.Errorf("security.protocol %q: want PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", s.Protocol)
	}
	if !s.usesSASL() {
		if s.Protocol == "" && (s.Mechanism != "" || s.Username != "") {
			return errors.New("SASL credentials are given but security.protocol is not: set it to SASL_SSL or SASL_PLAINTEXT")
		}
		return nil
	}
	switch s.Mechanism {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	case "":
		return fmt.Errorf("security.protocol is %s but sasl.mechanism is not set: want %s", s.Protocol, mechanisms)
	default:
		return fmt.Errorf("sasl.mechanism %q is not supported: want %s", s.Mechanism, mechanisms)
	}
	if s.Username == "" {
		return fmt.Errorf("security.protocol is %s but no user name is set", s.Protocol)
	}
	return nil
}

// mechanism returns kafka-go's side of the SASL exchange; nil without SASL.
func (s Security) mechanism() (sasl.Mechanism, error) {
	if !s.usesSASL() {
		return nil, nil
	}
	switch s.Mechanism {
	case "SCRAM-SHA-256":
		return scramMechanism(scram.SHA256, s)
	case "SCRAM-SHA-512":
		return scramMechanism(scram.SHA512, s)
	default:
		return plain.Mechanism{Username: s.Username, Password: string(s.Password)}, nil
	}
}

func scramMechanism(a scram.Algorithm, s Security) (sasl.Mechanism, error) {
	m, err := scram.Mechanism(a, s.Username, string(s.Password))
	if err != nil {
		// The cause may quote what it could not prepare, which is the password.
		return nil, fmt.Errorf("%s: the user name or the password has characters SCRAM does not allow", a.Name())
	}
	return m, nil
}

// tlsConfig reads the certificates; nil without TLS. The server name is set per connection.
func (s Security) tlsConfig() (*tls.Config, error) {
	if !s.usesTLS() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.SkipVerify}
	ca, err := pemOf("ssl.ca.location or ssl.truststore.location", s.CAFile, s.CAPEM)
	if err != nil {
		return nil, err
	}
	if ca != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("the certificate authorities (%s) hold no certificate", orInPlace(s.CAFile))
		}
	}
	key, err := pemOf("ssl.key.location or ssl.keystore.location", s.KeyFile, string(s.KeyPEM))
	if err != nil {
		return nil, err
	}
	cert, err := pemOf("ssl.certificate.location", s.CertFile, s.CertPEM)
	if err != nil {
		return nil, err
	}
	if key != nil || cert != nil {
		if cert == nil {
			cert = key
		}
		if key == nil {
			key = cert
		}
		if err := refuseEncrypted(key); err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate (%s) and its key (%s): %w", orInPlace(s.CertFile), orInPlace(s.KeyFile), err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if s.SkipHostname && !s.SkipVerify {
		// The library has no switch for "the chain but not the name": its own check is turned off and the chain checked here.
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(cs tls.ConnectionState) error {
			return verifyChain(cs, c.RootCAs)
		}
	}
	return c, nil
}

func verifyChain(cs tls.ConnectionState, roots *x509.CertPool) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the broker sent no certificate")
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range cs.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(options)
	return err
}

func orInPlace(file string) string {
	if file == "" {
		return "given in place"
	}
	return file
}

// convertStore says how Java's binary stores become PEM.
const convertStore = "a JKS store is converted by " +
	"\"keytool -importkeystore -srckeystore STORE -destkeystore store.p12 -deststoretype PKCS12\", a PKCS12 store by " +
	"\"openssl pkcs12 -in store.p12 -nodes -out store.pem\""

// pemOf returns the PEM text of a file, or the one in place, or nil. Java's binary stores are told from their content.
func pemOf(option, file, inPlace string) ([]byte, error) {
	data := []byte(inPlace)
	if file != "" {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", option, err)
		}
	}
	if len(data) == 0 && file == "" {
		return nil, nil
	}
	if !strings.Contains(string(data), "-----BEGIN ") {
		return nil, fmt.Errorf("%s: %s is not PEM: %s", option, orInPlace(file), convertStore)
	}
	return data, nil
}

func refuseEncrypted(key []byte) error {
	for {
		var block *pem.Block
		if block, key = pem.Decode(key); block == nil {
			return nil
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return errors.New("the client's private key is encrypted, which is not supported: " +
				"decrypt it with \"openssl pkey -in KEY -out key.pem\" and protect the file instead")
		}
	}
}
