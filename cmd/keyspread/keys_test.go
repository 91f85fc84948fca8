package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// framedKeys is a file of keys under the schemas 7 and 9, one of them also as plain text.
func framedKeys(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, schema := range []byte{7, 9} {
		for i := range 8 {
			fmt.Fprintf(&b, "{\"hex\":\"00000000%02x0e%x\"}\n", schema, fmt.Sprintf("order-%d", i))
		}
	}
	b.WriteString("{\"key\":\"order-1\"}\n")
	file := filepath.Join(t.TempDir(), "keys.ndjson")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// registryAnswers is a registry that wants ann's password and knows the schemas 7 and 9; the name of 9 is hostile.
func registryAnswers(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "ann" || password != "s3cret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	subjects := map[string]string{"7": "orders-key", "9": "\x1b]0;title\x07\u202e{key}\n"}
	id := strings.Split(strings.TrimPrefix(r.URL.Path, "/schemas/ids/"), "/")[0]
	switch answer := any(map[string]string{"schema": `"string"`}); {
	case subjects[id] == "":
		w.WriteHeader(http.StatusNotFound)
	case strings.HasSuffix(r.URL.Path, "/versions"):
		answer = []map[string]any{{"subject": subjects[id], "version": 3}}
		fallthrough
	default:
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func TestSchemaRegistry(t *testing.T) {
	known := httptest.NewServer(http.HandlerFunc(registryAnswers))
	defer known.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	defer silent.CloseClientConnections()
	props := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(props, []byte("basic.auth.user.info=ann:s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, password string
		args           []string
		named          bool
		warning        string // all of stderr when it is not empty
	}{
		{"password of the environment", "s3cret", []string{"--schema-registry", known.URL, "--schema-registry-user", "ann"}, true, ""},
		{"client properties", "", []string{"--schema-registry", known.URL, "--command-config", props}, true, ""},
		{"a setting", "", []string{"--schema-registry", known.URL, "-X", "schema.registry.basic.auth.user.info=ann:s3cret"}, true, ""},
		{"a wrong password", "wr0ng", []string{"--schema-registry", known.URL, "--schema-registry-user", "ann"}, false, "HTTP 401; check the user"},
		{"silence", "", []string{"--schema-registry", silent.URL, "--schema-registry-timeout", "200ms"}, false, "gave no answer in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(registryPasswordEnv, c.password)
			var out, talk strings.Builder
			args := append([]string{"analyze", framedKeys(t), "-n", "6", "-o", "wide", "-o", "json=" + filepath.Join(t.TempDir(), "r.json")}, c.args...)
			if code := run(args, strings.NewReader(""), &out, &talk); code != exitOK {
				t.Errorf("exit %d, want %d: a registry's trouble must not spoil the report", code, exitOK)
			}
			if c.warning == "" && talk.Len() > 0 || strings.Count(talk.String(), "\n") > 1 || !strings.Contains(talk.String(), c.warning) {
				t.Errorf("stderr %q, want at most one line with %q", talk.String(), c.warning)
			}
			text := strings.Join(strings.Fields(out.String()), " ")
			if !strings.Contains(text, "schema 7: order-1") || !strings.Contains(text, "key-drift") {
				t.Errorf("the report is not complete:\n%s", out.String())
			}
			if got := strings.Count(text, "schema 7 is orders-key version 3 (string)"); c.named != (got == 3) { // two findings and the key bytes
				t.Errorf("schema 7 is named %d times, named = %v:\n%s", got, c.named, out.String())
			}
			if strings.ContainsAny(out.String()+talk.String(), "\x1b\x07\u202e") || strings.Contains(out.String()+talk.String(), "s3cret") {
				t.Errorf("an escape or the password is printed: %q %q", out.String(), talk.String())
			}
		})
	}
}

func TestSchemaRegistryIsNotAskedWithoutNeed(t *testing.T) {
	asked := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }))
	defer asked.Close()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, talk strings.Builder
	if code := run([]string{"analyze", file, "-n", "3", "--schema-registry", asked.URL}, strings.NewReader(""), &out, &talk); code != exitOK || talk.Len() > 0 {
		t.Errorf("exit %d, stderr %q", code, talk.String())
	}
	for _, args := range [][]string{
		{"--schema-registry", "registry:8081"}, {"--schema-registry-user", "ann"}, {"--schema-registry", asked.URL, "--schema-registry-timeout", "0s"},
	} {
		talk.Reset()
		if code := run(append([]string{"analyze", file, "-n", "3"}, args...), strings.NewReader(""), &out, &talk); code != exitUsage || !strings.Contains(talk.String(), "--schema-registry") {
			t.Errorf("%v: exit %d, stderr %q; want %d", args, code, talk.String(), exitUsage)
		}
	}
}
