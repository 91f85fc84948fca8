package kafka

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestForeign(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"Invalid username or password", "Invalid username or password"},
		{`C:\keys "Zürich" 東京`, `C:\keys "Zürich" 東京`},
		{"\x1b[31mred\x1b]0;title\x07", `\x1b[31mred\x1b]0;title\a`},
		{"a\nb\r\tc\x00\x7f", `a\nb\r\tc\x00\x7f`},
		{"\u202egnirts\u2066\u200b", `\u202egnirts\u2066\u200b`}, // right to left, isolate, zero width
		{"\x9b2J\xff", `\x9b2J\xff`},                             // the one-byte CSI is no UTF-8
		{"\u009b2J", `\u009b2J`},                                 // and as a rune
		{strings.Repeat("a", 30_000), strings.Repeat("a", maxForeign) + "…"},
		{strings.Repeat("a", maxForeign), strings.Repeat("a", maxForeign)},
		{strings.Repeat("a", maxForeign-1) + "é", strings.Repeat("a", maxForeign-1) + "…"},
	} {
		if got := foreign(test.in); got != test.want {
			t.Errorf("foreign(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

// wantPrintable fails the test unless an error is short and holds nothing that steers a terminal.
func wantPrintable(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error, want one")
		return
	}
	if i := strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("error %q does not print from byte %d on", err, i)
	}
	if n := len(err.Error()); n > 1500 {
		t.Errorf("error of %d bytes", n)
	}
}

const evil = "\x1b[31mevil\x07\n\u202ehost"

func TestErrorsOfAuthenticationPrint(t *testing.T) {
	t.Parallel()
	const password = "hunter2\x01"
	for _, test := range []struct {
		name      string
		mechanism string
		key       kmsg.Key
		answer    func(kmsg.Response)
	}{
		{"refused", "PLAIN", kmsg.SASLAuthenticate, func(r kmsg.Response) {
			a := r.(*kmsg.SASLAuthenticateResponse)
			a.ErrorCode, a.ErrorMessage = int16(codeSASLFailed), new(evil+" \x00alice\x00"+password+strings.Repeat(evil, 1000))
		}},
		{"SCRAM", "SCRAM-SHA-256", kmsg.SASLAuthenticate, func(r kmsg.Response) {
			r.(*kmsg.SASLAuthenticateResponse).SASLAuthBytes = []byte("e=" + evil + password)
		}},
		{"mechanisms", "PLAIN", kmsg.SASLHandshake, func(r kmsg.Response) {
			a := r.(*kmsg.SASLHandshakeResponse)
			a.ErrorCode, a.SupportedMechanisms = int16(codeUnsupportedMechanism), slices.Repeat([]string{evil}, 1000)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1, kfake.EnableSASL(), kfake.Superuser(test.mechanism, "alice", "right"))
			c.ControlKey(int16(test.key), func(q kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				answer := q.ResponseKind()
				test.answer(answer)
				return answer, nil, true
			})
			config := testConfig(c, "any")
			config.Security = Security{Protocol: "SASL_PLAINTEXT", Mechanism: test.mechanism, Username: "alice", Password: password}
			if test.mechanism != "PLAIN" {
				config.Security.Password = "hunter2" // SCRAM allows no control characters
			}
			_, err := newSource(t, config).Plan(t.Context())
			wantPrintable(t, err)
			wantError(t, err, `authenticating as "alice"`)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %q shows the password", err)
			}
		})
	}
}

func TestErrorsOfAdvertisedHostsPrint(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{"escapes": evil, "long": strings.Repeat("a", 30_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1, kfake.SeedTopics(1, "t"))
			c.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				answer := q.ResponseKind().(*kmsg.MetadataResponse)
				answer.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: host, Port: 9092}}
				answer.Topics = []kmsg.MetadataResponseTopic{{Topic: new("t"), Partitions: []kmsg.MetadataResponseTopicPartition{{Leader: 1}}}}
				return answer, nil, true
			})
			_, err := newSource(t, testConfig(c, "t")).Plan(t.Context())
			wantPrintable(t, err)
			wantError(t, err, "advertises")
		})
	}
}

func TestTopicsLeavesOutNamesKafkaDoesNotAllow(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "orders.v1", "Old_orders-2"))
	c.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.MetadataResponse)
		for _, name := range []string{"orders.v1", "t\x1b[31m", "", "Old_orders-2", strings.Repeat("a", 250), "a b"} {
			answer.Topics = append(answer.Topics, kmsg.MetadataResponseTopic{Topic: new(name)})
		}
		return answer, nil, true
	})
	names, err := newSource(t, testConfig(c, "t")).Topics(t.Context())
	if want := []string{"Old_orders-2", "orders.v1"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("topics %q (%v), want %q", names, err, want)
	}
}

func TestErrorOfAnotherTopicPrints(t *testing.T) {
	t.Parallel()
	var a answer
	wantPrintable(t, a.parse((&kmsg.FetchResponse{Version: 4, Topics: []kmsg.FetchResponseTopic{{Topic: strings.Repeat(evil, 1000)}}}).AppendTo(nil), 4, "t"))
}
