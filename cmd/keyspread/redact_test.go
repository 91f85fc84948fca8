package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretKey is in every key of the tests below, and may be in nothing that --redact lets out.
const secretKey = "SECRETKEY"

// tells returns in which form text holds secretKey, "" for none.
func tells(text string) string {
	forms := map[string]string{
		"text":    strings.ToLower(secretKey),
		"hex":     hex.EncodeToString([]byte(secretKey)),
		"numbers": strings.Trim(fmt.Sprint([]byte(secretKey)), "[]"),
	}
	lower := strings.ToLower(text)
	for form, s := range forms {
		if strings.Contains(lower, s) {
			return form
		}
	}
	for before := range 3 { // the alignments of base64; the digits at the ends depend on what is beside
		digits := base64.StdEncoding.EncodeToString(append(make([]byte, before), secretKey...))
		if strings.Contains(text, strings.TrimRight(digits, "=")[4:len(digits)-4]) {
			return "base64"
		}
	}
	return ""
}

// A test that looks for keys must find them.
func TestTells(t *testing.T) {
	for _, text := range []string{
		"a SECRETKEY-a", "0x00" + hex.EncodeToString([]byte("SECRETKEY-a")), fmt.Sprint([]byte("xSECRETKEY")),
		base64.StdEncoding.EncodeToString([]byte("SECRETKEY")), base64.StdEncoding.EncodeToString([]byte("abSECRETKEY-a")),
		base64.StdEncoding.EncodeToString([]byte("abcdSECRETKEY-ab")),
	} {
		if tells(text) == "" {
			t.Errorf("%q is not seen to hold %s", text, secretKey)
		}
	}
}

// taleChild is a partitioner that goes wrong as its argument names, and says keys wherever it can.
func taleChild() {
	frame := func(b []byte) {
		os.Stdout.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	}
	read := func() []byte {
		var size [4]byte
		if _, err := io.ReadFull(os.Stdin, size[:]); err != nil {
			os.Exit(0)
		}
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(os.Stdin, b); err != nil {
			os.Exit(1)
		}
		return b
	}
	read()
	fmt.Fprintln(os.Stderr, "loaded", secretKey)
	if os.Args[1] == "greets" {
		frame([]byte("X" + secretKey))
		return
	}
	frame([]byte("RKSPP\x00\x00\x00\x01"))
	for {
		q := read()
		counts := binary.BigEndian.Uint32(q[5:])
		cells := counts * binary.BigEndian.Uint32(q[9+4*counts:])
		answer := binary.BigEndian.AppendUint32(append([]byte("A"), q[1:5]...), cells)
		fails := os.Args[1] == "fails"
		for range cells {
			cell := uint32(0)
			if fails {
				cell = 1<<32 - 2 // -2, failed
			}
			answer = binary.BigEndian.AppendUint32(answer, cell)
		}
		tale := func(b []byte) []byte {
			return append(binary.BigEndian.AppendUint32(b, uint32(len(secretKey))), secretKey...)
		}
		if fails {
			answer = binary.BigEndian.AppendUint32(answer, cells)
			for c := range cells {
				answer = tale(binary.BigEndian.AppendUint32(answer, c))
			}
		} else {
			answer = binary.BigEndian.AppendUint32(answer, 0)
		}
		switch os.Args[1] {
		case "outside":
			answer[12] = 99
		case "stops":
			answer = tale([]byte("E"))
		case "dies":
			os.Exit(7)
		case "prints":
			os.Stdout.WriteString(secretKey)
		case "garbage":
			answer = []byte(secretKey)
		}
		frame(answer)
	}
}

// Nothing that a run with --redact writes holds a key, in no format, however the run goes wrong.
func TestRedactTellsNoKey(t *testing.T) {
	t.Setenv(redactSecretEnv, "a secret of sixteen bytes")
	lines := "SECRETKEY-a\nSECRETKEY-a\nSECRETKEY-a\nSECRETKEY-b\n\"SECRETKEY-c\"\n\x00SECRETKEY\n"
	const first = `{"key":"SECRETKEY-a"}` + "\n"
	hexKey := hex.EncodeToString([]byte(secretKey))
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var forms strings.Builder // of keys: spellings, frames, envelopes; some in two partitions
	for i := range 40 {
		fmt.Fprintf(&forms, "{\"key\":\"SECRETKEY-%d\",\"partition\":%d}\n", i%9, i%4)
		fmt.Fprintf(&forms, "{\"key\":\" SECRETKEY-%d \"}\n{\"hex\":\"0000000007%s\"}\n", i%9, hexKey)
		fmt.Fprintf(&forms, "{\"key\":\"{\\\"schema\\\":{\\\"type\\\":\\\"struct\\\",\\\"name\\\":\\\"SECRETKEY.Key\\\"},\\\"payload\\\":{\\\"id\\\":%d}}\"}\n", i)
		fmt.Fprintf(&forms, "{\"key\":\"\\\"SECRETKEY-%d\\\"\",\"timestamp\":%d}\n", i%9, 1_700_000_000_000+int64(i)*1000)
	}
	profile := filepath.Join(dir, "saved.profile")
	var saved strings.Builder
	if code := run([]string{"analyze", write("to-save", lines), "-n", "4", "--save-profile", profile}, nil, io.Discard, &saved); code != exitOK {
		t.Fatal(saved.String())
	}

	for i, tc := range []struct {
		keys, partitioner string // a file's text and a table's, or a spec
		more              []string
		silent            bool // not even without --redact is there a key to see
	}{
		{keys: lines},
		{keys: lines, more: []string{"--key-format", "hex"}},
		{keys: lines, more: []string{"--key-format", "base64"}},
		{keys: forms.String()},
		{keys: forms.String(), more: []string{"--key-format", "json"}},
		{keys: profile},

		{keys: lines, partitioner: "exec:talechild good"},
		{keys: lines, partitioner: "exec:talechild greets"},
		{keys: lines, partitioner: "exec:talechild fails"},
		{keys: lines, partitioner: "exec:talechild outside"},
		{keys: lines, partitioner: "exec:talechild stops"},
		{keys: lines, partitioner: "exec:talechild dies"},
		{keys: lines, partitioner: "exec:talechild prints"},
		{keys: lines, partitioner: "exec:talechild garbage"},

		{keys: first + `{"key":"SECRETKEY-b"`},
		{keys: first + `{"SECRETKEY-b":1}`},
		{keys: first + `{"key":["SECRETKEY-b"]}`},
		{keys: first + `{"key":"SECRETKEY` + "\xff" + `"}`},
		{keys: first + `{"key":"SECRETKEY\ud800"}`},
		{keys: first + `{"hex":"SECRETKEY-b"}`},
		{keys: first + `{"hex":"` + hexKey + `0"}`},
		{keys: first + `{"base64":"SECRETKEY-b"}`},
		{keys: first + `{"key":"SECRETKEY-b","partition":"SECRETKEY-b"}`},
		{keys: first + `{"key":"SECRETKEY-b","partition":4}`},
		{keys: first + "SECRETKEY-b"},

		{keys: lines, partitioner: "key,partition\nSECRETKEY-a,99\n"},
		{keys: lines, partitioner: "key,partition\nSECRETKEY-a,1\nSECRETKEY-a,2\n", silent: true},
		{keys: lines, partitioner: "SECRETKEY-a,1\nSECRETKEY-b,2\n", silent: true},
		{keys: lines, partitioner: "SECRETKEY-a,partition\n", silent: true},
		{keys: lines, partitioner: "partition,key\nSECRETKEY-a,1\n", silent: true},
		{keys: lines, partitioner: "partitions,partition,key\nSECRETKEY-a,1,a\n", silent: true},
		{keys: lines, partitioner: "key,partition\nSECRETKEY-a,x\"SECRETKEY\n", silent: true},
		{keys: lines, partitioner: "key,partition\nSECRETKEY,a,1\n", silent: true},
		{keys: lines, partitioner: "hex,partition\nSECRETKEY-a,1\n", silent: true},
		{keys: lines, partitioner: "base64,partition\nSECRETKEY-a,1\n", silent: true},
		{keys: lines, partitioner: `{"key":"SECRETKEY-a","partition":1}` + "\n" + `{"key":"SECRETKEY-a","partition":1}`, silent: true},
		{keys: lines, partitioner: `{"SECRETKEY-a":1}`, silent: true},
		{keys: lines, partitioner: `{"key":["SECRETKEY-a"],"partition":1}`, silent: true},
		{keys: lines, partitioner: `{"key":"SECRETKEY-a","partition":"SECRETKEY-a"}`, silent: true},
		{keys: lines, partitioner: `{"key":"SECRETKEY-a"`, silent: true},
	} {
		args := []string{tc.keys}
		if tc.keys != profile {
			args = []string{write(fmt.Sprintf("%d.keys", i), tc.keys), "-n", "4"}
		}
		switch {
		case strings.HasPrefix(tc.partitioner, "exec:"):
			args = append(args, "--partitioner", tc.partitioner)
		case tc.partitioner != "":
			args = append(args, "--partitioner", "table:"+write(fmt.Sprintf("%d.table", i), tc.partitioner))
		}
		args = append(args, tc.more...)
		for _, command := range [][]string{{"analyze"}, {"plan", "--to", "8"}} {
			args := append(command, args...)
			clear := everything(t, args)
			if told := tells(clear) != ""; told == tc.silent {
				t.Errorf("%q: shows keys without --redact: %t, want %t\n%s", args, told, !tc.silent, clear)
			}
			redacted := everything(t, append(args, "--redact"))
			if form := tells(redacted); form != "" {
				t.Errorf("%q: with --redact there is a key, as %s:\n%s", args, form, redacted)
			}
		}
	}
}

// everything runs keyspread with every format and returns all that it writes.
func everything(t *testing.T, args []string) string {
	t.Helper()
	dir := t.TempDir()
	args = append([]string{}, args...)
	args = append(args, "-o", "wide") // standard output takes one
	for _, f := range formats() {
		args = append(args, "-o", f+"="+filepath.Join(dir, f))
	}
	var all strings.Builder
	run(args, strings.NewReader(""), &all, &all)
	for _, f := range formats() {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
