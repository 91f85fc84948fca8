package kafka

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/magiconair/properties"

	"keyspread/analyze/source"
)

// Properties are settings by Kafka's names: those of the Java client and those of librdkafka. Values are kept as
// secrets, so that printing them by accident shows nothing. What stands where a name should and does not look like one
// may be a secret too, such as a line of a private key that was not escaped: it is kept by its place, "line 3".
type Properties map[string]Secret

var (
	nameForm  = regexp.MustCompile(`^[a-z0-9._-]{1,80}$`)
	placeForm = regexp.MustCompile(`^(line|setting) [0-9]+$`)
)

// set keeps a property that was found as number n of its lines or settings.
func (p Properties) set(what string, n int, name, value string) {
	if !nameForm.MatchString(name) {
		name = fmt.Sprintf("%s %d", what, n)
	}
	p[name] = Secret(value)
}

// ParseProperties reads a Java properties file (client.properties, as given to --command-config). ${...} is not
// expanded. An error never quotes a value.
func ParseProperties(r io.Reader) (Properties, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	all := Properties{}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); {
		// The library knows no line numbers, so it gets the lines of one property at a time.
		first := i
		for i++; i < len(lines) && continues(lines[first], lines[i-1]); i++ {
		}
		p, err := loader.LoadBytes([]byte(strings.Join(lines[first:i], "\n")))
		if err != nil {
			// The library's text quotes the file, which may hold a password.
			return nil, fmt.Errorf("line %d: not a Java properties file: a \\u escape or a line is malformed", first+1)
		}
		for _, key := range p.Keys() {
			value, _ := p.Get(key)
			all.set("line", first+1, key, value)
		}
	}
	return all, nil
}

// continues reports whether the property that begins at line first goes on after the line last: that one ends in a
// backslash which no other escapes, and it is no comment.
func continues(first, last string) bool {
	if text := strings.TrimLeft(first, " \t\f"); text == "" || text[0] == '#' || text[0] == '!' {
		return false
	}
	return (len(last)-len(strings.TrimRight(last, `\`)))%2 == 1
}

// ParseKcat reads a kcat configuration (key=value lines, # comments, nothing escaped). An error never quotes a value.
func ParseKcat(r io.Reader) (Properties, error) {
	all := Properties{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("line %d: want key=value", n)
		}
		all.set("line", n, strings.TrimSpace(key), strings.TrimSpace(value))
	}
	return all, lines.Err()
}

// ParseSettings reads the arguments of -X, each key=value; a later one wins. An error never quotes a value.
func ParseSettings(args []string) (Properties, error) {
	all := Properties{}
	for i, a := range args {
		key, value, found := strings.Cut(a, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("-X number %d: want key=value, such as -X security.protocol=SSL", i+1)
		}
		all.set("setting", i+1, strings.TrimSpace(key), value)
	}
	return all, nil
}

// setting is what one property does to a Config. Its error must not quote a secret.
type setting func(c *Config, value string) error

// settings holds every property that is understood. The Java client's names and librdkafka's do not contradict each
// other, so there is one table.
var settings = map[string]setting{
	"bootstrap.servers":    setServers,
	"metadata.broker.list": setServers,
	"client.id":            func(c *Config, v string) error { c.ClientID = v; return nil },
	"client.rack":          func(c *Config, v string) error { c.Rack = v; return nil },
	"isolation.level":      setIsolation,

	"security.protocol": func(c *Config, v string) error { c.Security.Protocol = strings.ToUpper(v); return nil },
	"sasl.mechanism":    setMechanism,
	"sasl.mechanisms":   setMechanism,
	"sasl.username":     func(c *Config, v string) error { c.Security.Username = v; return nil },
	"sasl.password":     func(c *Config, v string) error { c.Security.Password = Secret(v); return nil },
	"sasl.jaas.config":  setJAAS,

	"ssl.truststore.location":     setCAFile,
	"ssl.ca.location":             setCAFile,
	"ssl.truststore.certificates": setCAPEM,
	"ssl.ca.pem":                  setCAPEM,

	"ssl.keystore.location":          setKeyFile,
	"ssl.key.location":               setKeyFile,
	"ssl.keystore.key":               setKeyPEM,
	"ssl.key.pem":                    setKeyPEM,
	"ssl.certificate.location":       func(c *Config, v string) error { c.Security.CertFile, c.Security.CertPEM = v, ""; return nil },
	"ssl.keystore.certificate.chain": setCertPEM,
	"ssl.certificate.pem":            setCertPEM,
	"ssl.truststore.type":            checkStoreType,
	"ssl.keystore.type":              checkStoreType,

	"ssl.endpoint.identification.algorithm": setHostnameCheck,
	"enable.ssl.certificate.verification":   setVerification,
}

// harmless are properties that clients' files often hold and that mean nothing here: keyspread joins no group, creates
// no topic, always checks the CRC, reads no value, and refuses encrypted stores when it opens them.
var harmless = []string{
	"allow.auto.create.topics", "auto.offset.reset", "check.crcs", "client.dns.lookup", "default.api.timeout.ms",
	"enable.auto.commit", "group.id", "key.deserializer", "request.timeout.ms", "session.timeout.ms", "ssl.key.password",
	"ssl.keystore.password", "ssl.truststore.password", "value.deserializer",
}

// Apply sets what p says in c and leaves the rest; a later Apply overrides an earlier one, so configuration is layered
// by calling it for the file first, then for the environment, then for -X. Properties that are not known become
// warnings, sorted. The error is the first value that cannot be used; it never quotes a secret.
func (c *Config) Apply(p Properties) (warnings []string, err error) {
	keys := make([]string, 0, len(p))
	for k := range p {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		set, known := settings[k]
		if !known && slices.Contains(harmless, k) {
			continue
		}
		if !known {
			warnings = append(warnings, unknownProperty(k))
			continue
		}
		if err := set(c, string(p[k])); err != nil {
			return warnings, fmt.Errorf("property %s: %w", k, err)
		}
	}
	return warnings, nil
}

// unknownProperty is the warning of a property that is not known. It quotes what looks like a name and nothing else.
func unknownProperty(name string) string {
	switch {
	case nameForm.MatchString(name):
		return fmt.Sprintf("property %q is not known and was ignored", name)
	case placeForm.MatchString(name):
		return name + " is no property and was ignored"
	}
	return "something that is no property was ignored"
}

func setServers(c *Config, v string) error {
	if c.BootstrapServers = SplitServers(v); len(c.BootstrapServers) == 0 {
		return errors.New("want host:port, more of them separated by commas")
	}
	return nil
}

func setIsolation(c *Config, v string) error {
	for _, i := range []source.Isolation{source.ReadCommitted, source.ReadUncommitted} {
		if v == i.String() {
			c.Isolation = i
			return nil
		}
	}
	return fmt.Errorf("%q: want %s or %s", v, source.ReadCommitted, source.ReadUncommitted)
}

func setMechanism(c *Config, v string) error {
	c.Security.Mechanism = strings.ToUpper(v)
	return nil
}

func setCAFile(c *Config, v string) error {
	c.Security.CAFile, c.Security.CAPEM = v, ""
	return nil
}

func setCAPEM(c *Config, v string) error {
	c.Security.CAFile, c.Security.CAPEM = "", v
	return nil
}

func setKeyFile(c *Config, v string) error {
	c.Security.KeyFile, c.Security.KeyPEM = v, ""
	return nil
}

func setKeyPEM(c *Config, v string) error {
	c.Security.KeyFile, c.Security.KeyPEM = "", Secret(v)
	return nil
}

func setCertPEM(c *Config, v string) error {
	c.Security.CertFile, c.Security.CertPEM = "", v
	return nil
}

func checkStoreType(_ *Config, v string) error {
	if !strings.EqualFold(v, "PEM") {
		return fmt.Errorf("%q is not supported, PEM is: %s", v, convertStore)
	}
	return nil
}

func setHostnameCheck(c *Config, v string) error {
	switch strings.ToLower(v) {
	case "", "none":
		c.Security.SkipHostname = true
	case "https":
		c.Security.SkipHostname = false
	default:
		return fmt.Errorf("%q: want https, or nothing for no check", v)
	}
	return nil
}

func setVerification(c *Config, v string) error {
	switch strings.ToLower(v) {
	case "true":
		c.Security.SkipVerify = false
	case "false":
		c.Security.SkipVerify = true
	default:
		return fmt.Errorf("%q: want true or false", v)
	}
	return nil
}

// setJAAS takes the user and the password out of a login module's line,
//
//	org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";
func setJAAS(c *Config, v string) error {
	words, err := jaasWords(v)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("is empty")
	}
	if strings.Contains(words[0], "=") { // it may be the password
		return errors.New("want a login module first, PlainLoginModule or ScramLoginModule")
	}
	module := words[0][strings.LastIndexByte(words[0], '.')+1:]
	switch module {
	case "PlainLoginModule":
		if c.Security.Mechanism == "" {
			c.Security.Mechanism = "PLAIN"
		}
	case "ScramLoginModule":
	default:
		return fmt.Errorf("login module %q is not supported: want PlainLoginModule or ScramLoginModule", module)
	}
	user, password := false, false
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "username":
			c.Security.Username, user = value, true
		case "password":
			c.Security.Password, password = Secret(value), true
		}
	}
	if !user || !password {
		return fmt.Errorf("%s needs username=\"...\" and password=\"...\"", module)
	}
	return nil
}

// jaasWords splits a JAAS line at white space outside quotes, up to the semicolon, and removes the quotes. A backslash
// inside quotes takes the next character as it is.
func jaasWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	escaped, open := false, false
	end := func() {
		if open {
			words = append(words, word.String())
			word.Reset()
			open = false
		}
	}
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote != 0 && r == '\\':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ';':
			end()
			return words, nil
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			end()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	end()
	return words, nil
}
