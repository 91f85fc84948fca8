package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestIntegrationSecurity reads through the listeners with SASL and TLS, configured as a Java client is and as kcat is,
// and shows what a wrong password, a missing certificate and the wrong protocol say.
func TestIntegrationSecurity(t *testing.T) {
	c := newRealKafka(t)
	sasl, saslSSL, ca := os.Getenv("KEYSPREAD_TEST_SASL"), os.Getenv("KEYSPREAD_TEST_SASL_SSL"), os.Getenv("KEYSPREAD_TEST_CA")
	if sasl == "" || saslSSL == "" || ca == "" {
		lacking(t, "no listeners with SASL and TLS: .ci/kafka says which variables name them")
	}
	tool := buildTool(t)
	topic := c.topic(t, "security", 3)
	c.produce(t, mixedRecords(topic, 3, 300))

	java := func(lines ...string) []string {
		name := filepath.Join(t.TempDir(), "client.properties")
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"--command-config", name}
	}
	kcat := func(settings ...string) (args []string) {
		for _, s := range settings {
			args = append(args, "-X", s)
		}
		return args
	}
	const (
		plain = `sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="alice-secret";`
		scram = `sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="alice-secret";`
		wrong = `sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="wrong-secret";`
	)
	truststore := []string{"ssl.truststore.type=PEM", "ssl.truststore.location=" + ca}

	tests := []struct {
		name     string
		broker   string
		settings []string
		exit     int
		says     string // on standard error, any case
	}{
		{"plain", sasl, java("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", plain), 0, ""},
		{"scram-sha-256", sasl, java("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256", scram), 0, ""},
		{"scram-sha-512", sasl, java("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512", scram), 0, ""},
		{"tls and scram-sha-512", saslSSL, java(append(truststore, "security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", scram)...), 0, ""},
		{"tls and plain, as kcat", saslSSL, kcat("security.protocol=sasl_ssl", "ssl.ca.location="+ca, "sasl.mechanisms=PLAIN", "sasl.username=alice", "sasl.password=alice-secret"), 0, ""},

		{"wrong password", sasl, java("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256", wrong), 1, "credentials"},
		{"wrong password, plain", sasl, kcat("security.protocol=sasl_plaintext", "sasl.mechanisms=PLAIN", "sasl.username=alice", "sasl.password=wrong-secret"), 1, "authentication"},
		{"mechanism not offered", saslSSL, java("security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI"), 2, "gssapi"},
		{"certificate not trusted", saslSSL, kcat("security.protocol=sasl_ssl", "sasl.mechanisms=PLAIN", "sasl.username=alice", "sasl.password=alice-secret"), 1, "certificate"},
		{"tls to a port without", c.addr, java(append(truststore, "security.protocol=SSL")...), 1, "tls"},
		{"no tls to a port with", saslSSL, nil, 1, "tls"},
		{"no sasl to a port with", sasl, nil, 1, "sasl"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"analyze", "-b", test.broker, "-t", topic, "-o", "json", "--timeout", "5s"}, test.settings...)
			report, talk := runTool(t, test.exit, tool, args...)
			if test.exit == 0 {
				if got := parseReport(t, report).Contents.Records; got != 300 {
					t.Errorf("read %d records, want 300", got)
				}
			}
			if !strings.Contains(strings.ToLower(string(talk)), test.says) {
				t.Errorf("it says %q, want %q in it", talk, test.says)
			}
			for _, secret := range []string{"alice-secret", "wrong-secret"} {
				if strings.Contains(string(talk)+string(report), secret) {
					t.Errorf("it tells the password: %q", talk)
				}
			}
		})
	}
}

// TestIntegrationReauthentication reads, slowly, for longer than a login is good for on the listener: the broker then
// closes the connection (KIP-368), and nothing may be lost or come twice.
func TestIntegrationReauthentication(t *testing.T) {
	c := newRealKafka(t)
	sasl := os.Getenv("KEYSPREAD_TEST_SASL")
	if sasl == "" {
		lacking(t, "no listener with SASL: .ci/kafka says which variable names it")
	}
	tool := buildTool(t)
	topic := c.topic(t, "reauthentication", 2)
	// small batches, as a broker answers at least one whole
	made := c.produce(t, mixedRecords(topic, 2, 30_000), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(16<<10))
	records := make(map[int32]int64)
	for p, entries := range made {
		records[p] = int64(len(entries))
	}
	began := time.Now()
	report, _ := runTool(t, 0, tool, "analyze", "-b", sasl, "-t", topic, "-o", "json", "--max-rate", "1MB",
		"-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-512",
		"-X", "sasl.username=alice", "-X", "sasl.password=alice-secret")
	// about 6 MB at 1 MB/s
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("read it within %v, want longer than two logins of 2 s", took)
	}
	for _, p := range parseReport(t, report).Partitions {
		if p.Records != records[p.Partition] {
			t.Errorf("partition %d: %d records, want %d", p.Partition, p.Records, records[p.Partition])
		}
	}
	if fmt.Sprint(records) != "map[0:15000 1:15000]" {
		t.Errorf("produced %v records, want 15000 in each of 2 partitions", records)
	}
}
