package kafka

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/source"
)

func TestApplyProperties(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		text string
		want Config
		warn []string
	}{
		{
			name: "Java, SASL_SSL with PLAIN",
			text: `
# a comment
bootstrap.servers = b1:9093,b2:9093
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
  username="alice" \
  password="p\\"a;s=s w\${ord}";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/ca.pem
client.rack=eu-1a
isolation.level=read_uncommitted
group.id=reporting
`,
			want: Config{
				BootstrapServers: []string{"b1:9093", "b2:9093"}, Rack: "eu-1a", Isolation: source.ReadUncommitted,
				Security: Security{Protocol: "SASL_SSL", Mechanism: "PLAIN", Username: "alice", Password: `p"a;s=s w${ord}`, CAFile: "/etc/ca.pem"},
			},
		},
		{
			name: "Java, SCRAM with single quotes and no check of the name",
			text: "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nssl.endpoint.identification.algorithm=\n" +
				"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required password='pw' username='bob' tokenauth=false;\n",
			want: Config{Security: Security{Protocol: "SASL_PLAINTEXT", Mechanism: "SCRAM-SHA-512", Username: "bob", Password: "pw", SkipHostname: true}},
		},
		{
			name: "Java, PEM in place",
			text: "security.protocol=SSL\nssl.truststore.certificates=CA\nssl.keystore.certificate.chain=CERT\nssl.keystore.key=KEY\nssl.keystore.type=PEM\n",
			want: Config{Security: Security{Protocol: "SSL", CAPEM: "CA", CertPEM: "CERT", KeyPEM: "KEY"}},
		},
		{
			name: "librdkafka",
			text: "metadata.broker.list=b:9092\nclient.id=tool\nsecurity.protocol=sasl_ssl\nsasl.mechanisms=SCRAM-SHA-256\nsasl.username=carol\nsasl.password=pw\n" +
				"ssl.ca.location=ca\nssl.certificate.location=cert\nssl.key.location=key\nenable.ssl.certificate.verification=false\n",
			want: Config{
				BootstrapServers: []string{"b:9092"}, ClientID: "tool",
				Security: Security{
					Protocol: "SASL_SSL", Mechanism: "SCRAM-SHA-256", Username: "carol", Password: "pw",
					CAFile: "ca", CertFile: "cert", KeyFile: "key", SkipVerify: true,
				},
			},
		},
		{
			name: "unknown keys are warnings",
			text: "zeta=1\nbootstrap.servers=b\nalpha.secret=hunter2\n",
			want: Config{BootstrapServers: []string{"b"}},
			warn: []string{`property "alpha.secret" is not known and was ignored`, `property "zeta" is not known and was ignored`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := ParseProperties(strings.NewReader(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got Config
			warn, err := got.Apply(p)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v (password %q), want %+v", got, string(got.Security.Password), test.want)
			}
			if !slices.Equal(warn, test.warn) {
				t.Errorf("warnings %q, want %q", warn, test.warn)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, test := range []struct {
		setting string
		want    []string
	}{
		{"ssl.truststore.type=JKS", []string{"ssl.truststore.type", `"JKS"`, "keytool", "openssl"}},
		{"ssl.keystore.type=PKCS12", []string{"ssl.keystore.type", "openssl pkcs12"}},
		{"isolation.level=none", []string{`"none"`, "read_committed"}},
		{"enable.ssl.certificate.verification=perhaps", []string{`"perhaps"`, "true or false"}},
		{"ssl.endpoint.identification.algorithm=ftp", []string{`"ftp"`}},
		{"bootstrap.servers=,", []string{"bootstrap.servers", "host:port"}},
		{"sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required password=\"" + secret + "\";", []string{"Krb5LoginModule", "ScramLoginModule"}},
		{"sasl.jaas.config=x.PlainLoginModule required username=\"u\" password=\"" + secret, []string{"quote"}},
		{"sasl.jaas.config=x.PlainLoginModule required password=\"" + secret + "\";", []string{"username"}},
		{"sasl.jaas.config=password=\"" + secret + "\";", []string{"login module first"}},
		{"sasl.jaas.config=", []string{"empty"}},
	} {
		p, err := ParseSettings([]string{test.setting})
		if err != nil {
			t.Fatal(err)
		}
		_, err = new(Config).Apply(p)
		wantError(t, err, test.want...)
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %q shows the secret", test.setting, err)
		}
	}
}

func TestApplyInLayers(t *testing.T) {
	t.Parallel()
	file, err := ParseKcat(strings.NewReader("# kcat\nbootstrap.servers=file:1\nsasl.password = back\\slash=2 \nssl.ca.location=/ca\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ParseSettings([]string{"bootstrap.servers=x:1", "bootstrap.servers=x:2", "ssl.ca.pem=PEM"})
	if err != nil {
		t.Fatal(err)
	}
	var c Config
	for _, p := range []Properties{file, settings} {
		if _, err := c.Apply(p); err != nil {
			t.Fatal(err)
		}
	}
	want := Config{BootstrapServers: []string{"x:2"}, Security: Security{Password: `back\slash=2`, CAPEM: "PEM"}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v (password %q), want %+v", c, string(c.Security.Password), want)
	}
}

func TestParseErrorsDoNotQuoteValues(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	_, err := ParseSettings([]string{"a=b", "sasl.password" + secret})
	wantError(t, err, "-X number 2")
	_, err2 := ParseKcat(strings.NewReader("a=b\nsasl.password " + secret))
	wantError(t, err2, "line 2")
	_, err3 := ParseProperties(strings.NewReader("sasl.password=" + secret + `\uZZZZ`))
	wantError(t, err3, "properties file")
	for _, e := range []error{err, err2, err3} {
		if e != nil && strings.Contains(e.Error(), secret) {
			t.Errorf("error %q shows the secret", e)
		}
	}
}

// Lines of a private key that were not escaped stand where names should, as does a password after the wrong separator.
func TestWarningsQuoteOnlyNames(t *testing.T) {
	t.Parallel()
	const secret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
	settings := func(text string) (Properties, error) { return ParseSettings(strings.Split(text, "\n")) }
	java := func(text string) (Properties, error) { return ParseProperties(strings.NewReader(text)) }
	kcat := func(text string) (Properties, error) { return ParseKcat(strings.NewReader(text)) }
	long := strings.Repeat("a", 81)
	for _, test := range []struct {
		name  string
		parse func(string) (Properties, error)
		text  string
		want  []string
	}{
		{
			"a key in a Java file", java,
			"# a\\\nclient.id=k\\\n  s\n\nssl.keystore.key=-----BEGIN PRIVATE KEY-----\n" + secret + "\n" + secret + "==\n-----END PRIVATE KEY-----\nzeta=1\n",
			[]string{"line 6 is no property and was ignored", "line 7 is no property and was ignored", "line 8 is no property and was ignored", `property "zeta" is not known and was ignored`},
		},
		{"a key in a Java file with CRLF", java, "client.id=ks\r\n" + secret + "\r\n", []string{"line 2 is no property and was ignored"}},
		{"a key in a kcat file", kcat, "client.id=ks\n\n" + secret + "==\n", []string{"line 3 is no property and was ignored"}},
		{"-X", settings, "client.id=ks\nsasl.password:" + secret + "=", []string{"setting 2 is no property and was ignored"}},
		{"-X in small letters", settings, "client.id=ks\nsasl.password:hunter2=", []string{"setting 2 is no property and was ignored"}},
		{"too long", settings, "client.id=ks\n" + long + "=1\n" + long[1:] + "=1", []string{`property "` + long[1:] + `" is not known and was ignored`, "setting 2 is no property and was ignored"}},
		{"made by hand", func(string) (Properties, error) { return Properties{"client.id": "ks", secret: ""}, nil }, "", []string{"something that is no property was ignored"}},
	} {
		p, err := test.parse(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var c Config
		warnings, err := c.Apply(p)
		slices.Sort(warnings)
		slices.Sort(test.want)
		if err != nil || !slices.Equal(warnings, test.want) {
			t.Errorf("%s: warnings %q and error %v, want %q", test.name, warnings, err, test.want)
		}
		if c.ClientID != "ks" {
			t.Errorf("%s: client id %q, want ks", test.name, c.ClientID)
		}
	}
}

func TestFullAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"host": "host:9092", "host:1234": "host:1234", "SASL_SSL://host:9093": "host:9093", "::1": "[::1]:9092", "[::1]": "[::1]:9092", "[::1]:9": "[::1]:9",
	} {
		if got := fullAddress(in); got != want {
			t.Errorf("fullAddress(%q) = %q, want %q", in, got, want)
		}
	}
}
