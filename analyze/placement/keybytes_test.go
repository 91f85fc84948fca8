package placement

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/placement/keyform"
	"keyspread/analyze/profile"
)

// frame puts text into a Confluent frame as an Avro string.
func frame(schema uint32, text string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, schema)
	return append(binary.AppendVarint(b, int64(len(text))), text...)
}

// The share of keys that the next schema id would move is that of framing them with it and asking the partitioner.
func TestSchemaIDs(t *testing.T) {
	const n, keys = 12, 400
	murmur2 := parse(t, "murmur2")
	tp := newTopic(n)
	moved := 0
	var now, next [1]int32
	for i := range keys {
		for _, schema := range []uint32{7, 9} {
			k := frame(schema, fmt.Sprintf("order-%d", i))
			tp.write(t, murmur2, n, k)
			k10 := frame(10, fmt.Sprintf("order-%d", i))
			for out, key := range map[*[1]int32][]byte{&now: k, &next: k10} {
				if _, err := murmur2.Place(key, []int32{n}, out[:]); err != nil {
					t.Fatal(err)
				}
			}
			if now != next {
				moved++
			}
		}
	}
	pl := tp.judge(t)
	kb := &pl.Keys
	if len(kb.Schemas) != 2 || kb.Schemas[0].ID != 7 || kb.Schemas[1].ID != 9 || kb.Schemas[0].Keys != 0.5 {
		t.Errorf("schemas %+v, want 7 and 9 with half of the keys each", kb.Schemas)
	}
	if want := float64(moved) / (2 * keys); !kb.NextKnown || kb.NextID != 10 || !within(kb.NextKeys, want, 1e-9) {
		t.Errorf("schema %d would move %v of the keys, want 10 and %v", kb.NextID, kb.NextKeys, want)
	}
	if kb.ByID.Keys != keys || kb.Drift.Keys != 0 {
		t.Errorf("%d keys under several ids and %d of several spellings, want %d and none", kb.ByID.Keys, kb.Drift.Keys, keys)
	}
	if text := pl.text(finding.SchemaIDInKey); !strings.Contains(text, "schema ids 7 (50.0 %) and 9 (50.0 %)") {
		t.Errorf("the finding says %q", text)
	}
}

// One number in text, in 8 bytes and in a frame is one logical key; one JSON value with and without spaces, too.
func TestKeyDrift(t *testing.T) {
	tp := newTopic(12)
	murmur2 := parse(t, "murmur2")
	tp.write(t, murmur2, 12, someKeys(1, 200)...)
	tp.write(t, murmur2, 12, []byte("42"), binary.BigEndian.AppendUint64(nil, 42), []byte{0, 0, 0, 0, 7, 84}) // 84: 42 in zigzag
	tp.write(t, murmur2, 12, []byte(`{"a":1,"b":2}`), []byte(`{"b": 2, "a": 1}`))
	pl := tp.judge(t)
	spellings := map[string]int{}
	for _, k := range pl.Keys.Drift.List {
		spellings[k.Display] = len(k.Spellings)
	}
	if len(spellings) != 2 || spellings["42"] != 3 || pl.Keys.Drift.Keys != 2 {
		t.Errorf("logical keys of several spellings: %v, want 42 in three and a JSON object in two", spellings)
	}
	if !slices.Contains(pl.ids(), finding.KeyDrift) {
		t.Errorf("findings %v, want %s", pl.ids(), finding.KeyDrift)
	}
}

// A format that does not fit is a finding with an example, and changes nothing else.
func TestKeyFormatMisfit(t *testing.T) {
	tp := newTopic(6)
	for i := range 30 {
		tp.write(t, parse(t, "murmur2"), 6, binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	tp.write(t, parse(t, "murmur2"), 6, []byte("text-2"), []byte("text-1"))
	judge := func(f keyform.Format) *Placement {
		cfg := DefaultConfig()
		cfg.KeyFormat = f
		return Judge(tp.profile(t, profile.DefaultConfig()), cfg)
	}
	auto := judge("")
	if slices.Contains(auto.ids(), finding.KeyFormatMisfit) {
		t.Errorf("auto does not fit: %s", auto.text(finding.KeyFormatMisfit))
	}
	long := judge(keyform.AsLong)
	m := long.Keys.Misfit
	if m.Keys != 2.0/32 || m.Records != 2.0/32 || !bytes.Equal(m.Example, []byte("text-1")) {
		t.Errorf("misfit %+v, want 2 of 32 keys and text-1", m)
	}
	if text := long.text(finding.KeyFormatMisfit); !strings.Contains(text, "are not of the key format long, such as {key}") {
		t.Errorf("the finding says %q", text)
	}
	if auto.summary() != long.summary() {
		t.Errorf("the format changes who wrote the topic: %s, %s", auto.summary(), long.summary())
	}
}
