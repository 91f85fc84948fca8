package reports

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

//go:embed schema/report-v1.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a report of [SchemaVersion].
func Schema() []byte { return bytes.Clone(schema) }

func writeJSON(r *Report) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "<null>" should read so
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("writing the report as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// Parse reads a report that was written as JSON. It fails on another schema version, on fields that this version does
// not have and on anything after the report; it never returns a report with an error.
func Parse(data []byte) (*Report, error) {
	var version struct {
		SchemaVersion *int `json:"schema_version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("reading a JSON report: %w", err)
	}
	switch {
	case version.SchemaVersion == nil:
		return nil, errors.New("reading a JSON report: no schema_version; is it a report of keyspread?")
	case *version.SchemaVersion != SchemaVersion:
		return nil, fmt.Errorf("reading a JSON report: it has schema version %d, this keyspread reads %d; write it again with this version",
			*version.SchemaVersion, SchemaVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var r Report
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading a JSON report: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("reading a JSON report: something follows the report")
	}
	return &r, nil
}
