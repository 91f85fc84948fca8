package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What a terminal acts on or does not show never reaches it, whoever wrote the text; lines stay lines.
func TestVisible(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"reading ключ.txt: 100 % of “it”", "reading ключ.txt: 100 % of “it”"},
		{"\x1b[2J\x1b]0;title\x07", `\x1b[2J\x1b]0;title\a`},
		{"a\u202eb\u2066c\u200bd\u3164", `a\u202eb\u2066c\u200bd\u3164`},
		{"\u009b31m\xff\xc3", `\u009b31m\xff\xc3`},
		{"\r'\\", `\r'\`},
		{"ends:\n  | no luck\nkeyspread: error: forged", "ends:\n  | no luck\n  keyspread: error: forged"},
	} {
		if got := visible(test.text); got != test.want {
			t.Errorf("visible(%q) is %q, want %q", test.text, got, test.want)
		}
	}
	var out, talk strings.Builder
	if code := run([]string{"analyze", "\x1b[31m\u202egone", "-n", "3"}, strings.NewReader(""), &out, &talk); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if strings.ContainsAny(talk.String(), "\x1b\u202e") || !strings.Contains(talk.String(), `\x1b[31m\u202egone`) {
		t.Errorf("stderr %q", talk.String())
	}
}

// Joined errors get a line each; an error that says more than its parts stays whole.
func TestApart(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	if got := apart(errors.Join(a, errors.Join(b, a))); len(got) != 3 {
		t.Errorf("%v, want three", got)
	}
	if got := apart(fmt.Errorf("both: %w", errors.Join(a, b))); len(got) != 1 {
		t.Errorf("%v, want one", got)
	}
	if got := apart(fmt.Errorf("%w and %w", a, b)); len(got) != 1 {
		t.Errorf("%v, want one", got)
	}
	if got := apart(nil); got != nil {
		t.Errorf("%v, want none", got)
	}
}
