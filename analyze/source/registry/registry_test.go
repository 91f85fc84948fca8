package registry

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve starts a registry that answers paths with bodies, and 404 elsewhere. It fails the test on anything but GET.
func serve(t *testing.T, answers map[string]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s: only GET may be sent", r.Method, r.URL)
		}
		body, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
			return
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNames(t *testing.T) {
	s := serve(t, map[string]string{
		"/sr/schemas/ids/7":           `{"schema":"{\"type\":\"record\",\"name\":\"OrderKey\",\"namespace\":\"com.example\",\"fields\":[]}"}`,
		"/sr/schemas/ids/7/versions":  `[{"subject":"orders-key","version":3},{"subject":"a","version":1},{"subject":"b","version":1}]`,
		"/sr/schemas/ids/8":           `{"schema":"\"string\""}`,
		"/sr/schemas/ids/8/subjects":  `["orders-key"]`, // a registry without versions
		"/sr/schemas/ids/9":           `{"schemaType":"PROTOBUF","schema":"syntax = \"proto3\";"}`,
		"/sr/schemas/ids/9/versions":  `[]`,
		"/sr/schemas/ids/10":          `{"schema":"{\"type\":\"long\"}"}`,
		"/sr/schemas/ids/10/versions": `[{"subject":"` + strings.Repeat("é", 5000) + `","version":1}]`,
		"/sr/schemas/ids/11":          `{"schema":"{\"type\":\"record\",\"name\":\"org.example.K\"}"}`,
	})
	c := client(t, Config{URL: s.URL + "/sr/"})
	names, err := c.Names(t.Context(), []uint32{7, 404, 8, 9, 10, 11})
	if err == nil || !strings.HasSuffix(err.Error(), "has no schema 404") {
		t.Errorf("error %v, want one that names the id that is not known", err)
	}
	for id, want := range map[uint32]string{
		7: "orders-key version 3, a version 1 and 1 more (com.example.OrderKey)", 8: "orders-key (string)", 9: "PROTOBUF",
		10: strings.Repeat("é", 40) + "… version 1 (long)", 11: "org.example.K",
	} {
		if names[id] != want {
			t.Errorf("schema %d is called %q, want %q", id, names[id], want)
		}
	}
	if len(names) != 5 {
		t.Errorf("%d names, want 5: %v", len(names), names)
	}
}

func TestBasicAuthentication(t *testing.T) {
	var asked int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "s3cret:1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, map[bool]string{true: `[]`, false: `{"schema":"\"string\""}`}[strings.HasSuffix(r.URL.Path, "/versions")])
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	for _, cfg := range []Config{
		{URL: s.URL, User: "ann", Password: "s3cret:1"},
		{URL: "http://ann:s3cret%3A1@" + host},
	} {
		if names, err := client(t, cfg).Names(t.Context(), []uint32{7}); err != nil || names[7] != "string" {
			t.Errorf("with the right password: %v, %v", names, err)
		}
	}
	asked = 0
	_, err := client(t, Config{URL: s.URL, User: "ann", Password: "wr0ng"}).Names(t.Context(), []uint32{7, 8, 9})
	if err == nil || !strings.Contains(err.Error(), "HTTP 401; check the user and the password") || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("with a wrong password: %v", err)
	}
	if asked != 1 { // else an account is locked
		t.Errorf("a wrong password was sent %d times, want once", asked)
	}
}

func TestTrouble(t *testing.T) {
	release := make(chan struct{})
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed to %s", r.URL)
	}))
	defer elsewhere.Close()
	for _, c := range []struct {
		name, want string
		answer     http.HandlerFunc
	}{
		{"silence", "it gave no answer in time", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}},
		{"an answer without end", "it gave no answer in time", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}},
		{"a huge answer", "its answer is over 1048576 bytes", func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}},
		{"a web page", "its answer is not a schema registry's", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>\x1b[31m</html>")
		}},
		{"another type", "its answer is not a schema registry's", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"schema":[1,2]}`)
		}},
		{"a failing server", "HTTP 500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		{"a redirect", "HTTP 302", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }},
		{"no HTTP", "malformed HTTP", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = conn.Write([]byte("\x1b]0;title\x07\n\n"))
			_ = conn.Close()
		}},
	} {
		s := httptest.NewServer(c.answer)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if c.name == "a huge answer" {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		}
		names, err := client(t, Config{URL: s.URL}).Names(ctx, []uint32{7})
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b\x07") || len(names) > 0 {
			t.Errorf("%s: %v, %v; want no names and one line with %q", c.name, names, err, c.want)
		}
		s.CloseClientConnections()
		s.Close()
	}
	close(release)
	gone := httptest.NewServer(nil)
	gone.Close()
	if _, err := client(t, Config{URL: gone.URL}).Names(t.Context(), []uint32{7}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody listening: %v", err)
	}
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	if _, err := client(t, Config{URL: untrusted.URL}).Names(t.Context(), []uint32{7}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, u := range []string{"", "registry:8081", "ftp://a", "http://", "http://a?x=1", "http://ann:s3cret@a b", "mailto:ann:s3cret@a"} {
		if _, err := New(Config{URL: u}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("URL %q: error %v, want one without the password", u, err)
		}
	}
}
