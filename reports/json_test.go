package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"keyspread/analyze"
	"keyspread/analyze/sample"
)

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("report.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReportsMatchSchema(t *testing.T) {
	s := compileSchema(t)
	for _, c := range goldenCases() {
		out := write(t, JSON, c.report(t), View{})
		inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(inst); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSchemaIsStrict checks that every object of the schema takes no other property and requires all it has: a field
// added to Report without a word in the schema then fails TestReportsMatchSchema, and so does one removed.
func TestSchemaIsStrict(t *testing.T) {
	var doc any
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	objects := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		case map[string]any:
			if v["type"] == "object" {
				objects++
				if v["additionalProperties"] != false {
					t.Errorf("%s: takes additional properties", path)
				}
				required, _ := v["required"].([]any)
				properties, _ := v["properties"].(map[string]any)
				for name := range properties {
					if !slices.Contains(required, any(name)) {
						t.Errorf("%s: property %q is not required", path, name)
					}
				}
			}
			for k, e := range v {
				walk(path+"/"+k, e)
			}
		}
	}
	walk("", doc)
	if objects == 0 {
		t.Error("the schema has no objects")
	}
}

func TestParseReadsWhatWasWritten(t *testing.T) {
	for _, c := range goldenCases() {
		want := c.report(t)
		out := write(t, JSON, want, View{})
		got, err := Parse(out)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Parse(JSON) differs from the report (-want +got)\n%s", c.name, diff)
		}
		if again := write(t, JSON, got, View{}); !bytes.Equal(again, out) {
			t.Errorf("%s: writing what was parsed gives other bytes", c.name)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(write(t, JSON, New(hotTopic(t), Options{}), View{}))
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "unexpected end of JSON input"},
		{"no report", `{"a": 1}`, "no schema_version"},
		{"a later version", strings.Replace(good, `"schema_version": 1`, `"schema_version": 2`, 1), "schema version 2, this keyspread reads 1"},
		{"an unknown field", strings.Replace(good, `"tool": {`, `"tool": { "colour": "red",`, 1), `unknown field "colour"`},
		{"something after it", good + "{}", "invalid character"},
		{"cut short", good[:len(good)/2], "unexpected end of JSON input"},
		{"a wrong type", strings.Replace(good, `"partial": false`, `"partial": "no"`, 1), "cannot unmarshal string"},
	} {
		r, err := Parse([]byte(c.in))
		if r != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Parse = %v, %v; want no report and an error with %q", c.name, r, err, c.want)
		}
	}
}

// TestMangledReports replaces every value of a report by others, one at a time: what Parse still takes must be laid out
// in every format without a panic, whatever was left out or made negative.
func TestMangledReports(t *testing.T) {
	small := topic{name: "t", partitions: 2, keys: []keyed{key("a", 20), key("b", 1), {nil, 1, 0, 1}}, to: []int32{3}}
	mangle(t, New(small.result(t), Options{}), nil, -1, 1e18, []any{})
	mangle(t, New(smallSample(t), Options{}), nil, -1) // the rest is as above
}

// smallSample is the smallest sample that has everything a sample can have.
func smallSample(t testing.TB) *analyze.Result {
	how := sample.DefaultConfig()
	how.BlockSize, how.MaxRecords = 3, 60
	tp := topic{name: "t", partitions: 2, keys: []keyed{key("a", 300), key("b", 20), {nil, 30, 0, 1}}, mix: true, to: []int32{3}}
	return tp.run(t, &how)
}

func mangle(t *testing.T, r *Report, by ...any) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(write(t, JSON, r, View{}), &doc); err != nil {
		t.Fatal(err)
	}
	taken := 0
	try := func() {
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(data)
		if err != nil {
			return
		}
		taken++
		for _, f := range []Format{Text, Wide, Markdown} {
			write(t, f, r, View{Terminal: true})
		}
	}
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		for _, other := range by {
			set(other)
			try()
		}
		set(v)
		switch v := v.(type) {
		case []any:
			if len(v) > 0 { // the others are like the first
				walk(v[0], func(x any) { v[0] = x })
			}
		case map[string]any:
			for k := range v {
				walk(v[k], func(x any) { v[k] = x })
			}
		}
	}
	walk(doc, func(x any) { doc = x })
	if taken == 0 {
		t.Error("Parse took none of the mangled reports")
	}
	t.Logf("%d mangled reports were laid out", taken)
}

// FuzzParse holds that Parse never panics or returns a report with an error, and that what it reads is written and read
// again as the same report, and laid out in every format.
func FuzzParse(f *testing.F) {
	small := topic{name: "t", partitions: 2, keys: []keyed{key("a", 2), key("b", 1), {nil, 1, 0, 1}}, to: []int32{3}}
	f.Add(write(f, JSON, New(small.result(f), Options{}), View{})) // small, or the engine gets nowhere
	f.Add(write(f, JSON, New(smallSample(f), Options{}), View{}))
	f.Add([]byte(`{"schema_version": 1}`))
	f.Add([]byte(`{"schema_version": 1, "plans": [{}], "contents": {"records": 1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			if r != nil {
				t.Fatalf("a report beside the error %v", err)
			}
			return
		}
		again, err := Parse(write(t, JSON, r, View{}))
		if err != nil {
			t.Fatalf("reading what was written: %v", err)
		}
		if !reflect.DeepEqual(r, again) {
			t.Fatalf("another report after writing and reading (-first +second)\n%s", cmp.Diff(r, again))
		}
		for _, format := range Formats() {
			write(t, format, r, View{Terminal: true})
		}
	})
}
