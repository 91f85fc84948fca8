package reports

import (
	"fmt"
	"strings"
	"testing"

	"keyspread/analyze"
	"keyspread/analyze/profile"
)

// TestPeaks reports a topic whose first partition has records a second apart, so that its peak is one a second, and a
// key of it that comes in a run of 100 seconds beside another of 200.
func TestPeaks(t *testing.T) {
	keys := []keyed{{[]byte("first"), 100, 95, 0}, {[]byte("second"), 200, 94, 0}, {[]byte("else"), 50, 96, 1}}
	r := New(topic{name: "t", partitions: 12, keys: keys}.result(t), Options{})
	if b := r.TimeBuckets; b == nil || b.Width != 2000 || b.Count != 151 || b.Start.MS != firstTime-1000 {
		t.Fatalf("time buckets %+v, want 151 of 2 s: 300 s and 1 s of the start are more than 256 of 1 s", r.TimeBuckets)
	}
	var first *TopKey
	for i := range r.Skew.Records.TopKeys {
		if k := &r.Skew.Records.TopKeys[i]; k.Key.Text == "first" {
			first = k
		}
	}
	for _, c := range []struct {
		what string
		got  *PeakFigure
		want float64
	}{
		{"partition 0, records a second", r.Partitions[0].Peak.RecordRate, 1},
		{"partition 0, bytes a second", r.Partitions[0].Peak.ByteRate, 100},
		{"partition 0, share", r.Partitions[0].Peak.RecordShare, 1}, // after the 50 seconds of partition 1
		{"first, records a second", first.Peak.RecordRate, 1},
		{"first, share", first.Peak.RecordShare, 1},
	} {
		if c.got == nil || c.got.Lo > c.want || c.got.Hi < c.want || c.got.Lo < 0.99*c.want {
			t.Errorf("%s: peak %+v, want %v", c.what, c.got, c.want)
		}
	}
	for _, f := range []Format{Text, Wide, Markdown} {
		out := string(write(t, f, r, View{}))
		if !strings.Contains(out, "PEAKS, per 2 s") || strings.Contains(out, "of partitions") == (f == Text) {
			t.Errorf("%s: want peaks per 2 s, those of partitions unless it is text:\n%s", f, out)
		}
	}
}

// TestPeaksOfBursts lists the peak of a key that is hot for a while only, although it is too light for every other list.
func TestPeaksOfBursts(t *testing.T) {
	keys := []keyed{{[]byte("burst"), 300, 10, 0}} // a record a second, beside one a second of partition 1 for 11 hours
	for i := range 100 {
		keys = append(keys, keyed{fmt.Append(nil, "even-", i), 400, 10, 1})
	}
	r := New(topic{name: "t", partitions: 12, keys: keys, mix: true}.result(t), Options{})
	if last := r.Skew.Records.TopKeys[len(r.Skew.Records.TopKeys)-1]; last.Key.Text != "burst" || last.Verdict != "not hot" || last.Peak == nil {
		t.Fatalf("the last key listed is %q, %s, with peak %+v; want the burst, not hot, with its peak", last.Key.Text, last.Verdict, last.Peak)
	}
	for _, f := range []Format{Text, Wide, Markdown} {
		_, peaks, _ := strings.Cut(string(write(t, f, r, View{})), "PEAKS")
		peaks, _, _ = strings.Cut(peaks, "PARTITIONS")
		if !strings.Contains(peaks, "and of those that are hot for a while") || strings.Count(peaks, "burst") != 1 || strings.Contains(peaks, "even-") {
			t.Errorf("%s: want a row for the burst and for no other key:\n%s", f, peaks)
		}
	}
}

// TestNoPeaksToTell checks that no format has a word of peaks where none are known.
func TestNoPeaksToTell(t *testing.T) {
	untimed := hotTopic(t)
	untimed.Peaks = nil
	for name, res := range map[string]*analyze.Result{"no times": untimed, "a sample": sampledTopic(t)} {
		r := New(res, Options{})
		if r.TimeBuckets != nil || r.Partitions[0].Peak != nil || r.Skew.Records.TopKeys[0].Peak != nil {
			t.Errorf("%s: peaks in the report, want none", name)
		}
		for _, f := range []Format{Text, Wide, Markdown} {
			if strings.Contains(string(write(t, f, r, View{})), "PEAKS") {
				t.Errorf("%s: %s has peaks, want none", name, f)
			}
		}
	}
}

// TestPeakTablesFit checks the widths that the tables of peaks keep to: 80 columns in text, 120 in wide.
func TestPeakTablesFit(t *testing.T) {
	for _, c := range goldenCases() {
		for _, f := range []Format{Text, Wide} {
			most := map[Format]int{Text: 80, Wide: 120}[f]
			out := string(write(t, f, c.report(t), View{Columns: 80}))
			_, peaks, _ := strings.Cut(out, "\nPEAKS")
			peaks, _, _ = strings.Cut(peaks, "\nPARTITIONS")
			for line := range strings.Lines(peaks) {
				if w := width(strings.TrimSuffix(line, "\n")); w > most {
					t.Errorf("%s, %s: a line of %d columns, want at most %d: %q", c.name, f, w, most, line)
				}
			}
		}
	}
}

func TestPeakTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{rateText(12.5, 12.5), "12.50"},
		{rateText(0.001, 0.001), "<0.01"},
		{rateText(0.151, 0.188), "0.15–0.19"}, // outwards
		{rateText(99.99, 100.01), "99.9–100.1"},
		{rateText(1020.4, 1030.2), "1,020–1,031"},
		{rateText(12_345_678, 12_345_678), "12.35 M"},
		{rateText(12_345_678, 12_345_679), "~12.35 M"},
		{bucketText(1000), "1 s"},
		{bucketText(64_000), "64 s"},
		{bucketText(512_000), "512 s (9 min)"},
		{bucketText(16_384_000), "16384 s (4.6 h)"},
		{bucketText(1_048_576_000), "1048576 s (12.1 days)"},
		{fmt.Sprint(peakFigure(profile.Peak{}, 1)), "<nil>"}, // nothing is certain
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
