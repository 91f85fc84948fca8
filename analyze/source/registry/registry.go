// Package registry asks a schema registry (Confluent's, or one with the same REST interface) what schema ids are called.
// Names are for people to read; no figure depends on them.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Config says which registry to ask, and as whom.
type Config struct {
	URL      string // http or https, with the path below which the registry answers; it may hold user and password
	User     string // basic authentication; "" takes what URL holds
	Password string // never in an error

	Transport http.RoundTripper // nil: [http.DefaultTransport]
}

// Client asks one registry. It sends nothing but GET requests for schema ids. It is safe for concurrent use.
type Client struct {
	base           *url.URL // without user and password
	user, password string
	http           http.Client
}

var errURL = errors.New("not the URL of a registry: want such as https://registry.example:8081")

// New returns a client; it does not connect. It fails on what is no URL of a registry.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errURL // err quotes the URL, and the password in it
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, errURL
	}
	c := &Client{base: base, user: cfg.User, password: cfg.Password}
	if c.user == "" && base.User != nil {
		c.user = base.User.Username()
		c.password, _ = base.User.Password()
	}
	base.User = nil
	c.http.Transport = cfg.Transport
	// A redirect could lead anywhere; the user can name the place itself.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// Names returns what ids are called, such as "orders-key version 3 (com.example.OrderKey)", for those that the registry
// knows. Ids that it does not know are no trouble for the others; any other trouble ends the asking. Names come
// together with the error; they are of at most 300 bytes and, as the registry's own words, not escaped.
func (c *Client) Names(ctx context.Context, ids []uint32) (map[uint32]string, error) {
	names := make(map[uint32]string, len(ids))
	var unknown []string
	for _, id := range ids {
		name, err := c.name(ctx, id)
		var status statusError
		switch {
		case err == nil:
			names[id] = name
		case errors.As(err, &status) && status == http.StatusNotFound:
			unknown = append(unknown, strconv.FormatUint(uint64(id), 10))
		default:
			return names, fmt.Errorf("asking the schema registry at %s about schema %d: %w", c.base.Host, id, err)
		}
	}
	if len(unknown) > 0 {
		return names, fmt.Errorf("the schema registry at %s has no schema %s", c.base.Host, strings.Join(unknown, ", "))
	}
	return names, nil
}

// name puts together where a schema is registered and what it is.
func (c *Client) name(ctx context.Context, id uint32) (string, error) {
	path := "schemas/ids/" + strconv.FormatUint(uint64(id), 10)
	var schema struct {
		Schema     string `json:"schema"`
		SchemaType string `json:"schemaType"` // absent: Avro
	}
	if err := c.get(ctx, path, &schema); err != nil {
		return "", err
	}
	subjects, err := c.subjects(ctx, path)
	if err != nil {
		return "", err
	}
	what := typeName(schema.SchemaType, schema.Schema)
	switch {
	case len(subjects) == 0:
		return what, nil
	case what != "":
		what = " (" + what + ")"
	}
	return list(subjects) + what, nil
}

// subjects returns the subjects with their versions, or alone from registries that do not tell versions.
func (c *Client) subjects(ctx context.Context, path string) ([]string, error) {
	var versions []struct {
		Subject string `json:"subject"`
		Version int    `json:"version"`
	}
	var names []string
	err := c.get(ctx, path+"/versions", &versions)
	for _, v := range versions {
		names = append(names, fmt.Sprintf("%s version %d", short(v.Subject), v.Version))
	}
	var status statusError
	if !errors.As(err, &status) || status != http.StatusNotFound {
		return names, err
	}
	var alone []string
	err = c.get(ctx, path+"/subjects", &alone)
	for _, s := range alone {
		names = append(names, short(s))
	}
	if errors.As(err, &status) && status == http.StatusNotFound {
		return nil, nil // there is a schema of that id; where it is registered is not told
	}
	return names, err
}

// statusError is an answer that is not 200.
type statusError int

func (s statusError) Error() string {
	text := fmt.Sprintf("it answers HTTP %d", int(s))
	if s == http.StatusUnauthorized || s == http.StatusForbidden {
		text += "; check the user and the password"
	}
	return text
}

// mostBytes is the longest answer taken. Schemas of keys are small.
const mostBytes = 1 << 20

// get reads one JSON answer.
func (c *Client) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json")
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reason(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return statusError(resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err != nil {
		return reason(err)
	}
	if len(body) > mostBytes {
		return fmt.Errorf("its answer is over %d bytes", mostBytes)
	}
	if json.Unmarshal(body, into) != nil {
		return errors.New("its answer is not a schema registry's")
	}
	return nil
}

// reason is an error of a request on one line, without the address, which the caller names.
func reason(err error) error {
	var asked *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it gave no answer in time")
	case errors.As(err, &asked):
		err = asked.Err
	}
	return errors.New(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, err.Error()))
}

// typeName is the full name of an Avro schema, or the kind of another.
func typeName(kind, schema string) string {
	if kind != "" && kind != "AVRO" {
		return short(kind)
	}
	var simple string
	if json.Unmarshal([]byte(schema), &simple) == nil {
		return short(simple)
	}
	var named struct {
		Type      any    `json:"type"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	if json.Unmarshal([]byte(schema), &named) != nil {
		return ""
	}
	switch {
	case named.Name == "":
		simple, _ = named.Type.(string)
		return short(simple)
	case named.Namespace != "" && !strings.Contains(named.Name, "."):
		return short(named.Namespace + "." + named.Name)
	}
	return short(named.Name)
}

// list joins a few names; a schema can be registered under any number of subjects.
func list(names []string) string {
	const most = 2
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// short cuts a name of unknown length.
func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
