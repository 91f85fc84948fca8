package kafka

import (
	"slices"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	at := func(y int, m time.Month, d, h, min, s, ms int) int64 {
		return time.Date(y, m, d, h, min, s, ms*1e6, time.UTC).UnixMilli()
	}
	for in, want := range map[string]int64{
		"2026-03-01T12:30:00Z":      at(2026, 3, 1, 12, 30, 0, 0),
		"2026-03-01T12:30:00+02:00": at(2026, 3, 1, 10, 30, 0, 0),
		"2026-03-01T12:30:00.250Z":  at(2026, 3, 1, 12, 30, 0, 250),
		"2026-03-01T12:30:05":       at(2026, 3, 1, 12, 30, 5, 0),
		"2026-03-01T12:30":          at(2026, 3, 1, 12, 30, 0, 0),
		"2026-03-01":                at(2026, 3, 1, 0, 0, 0, 0),
		"90m":                       at(2026, 3, 10, 10, 30, 0, 0),
		"-90m":                      at(2026, 3, 10, 10, 30, 0, 0),
		"48h":                       at(2026, 3, 8, 12, 0, 0, 0),
		"7d":                        at(2026, 3, 3, 12, 0, 0, 0),
		"1d12h":                     at(2026, 3, 9, 0, 0, 0, 0),
		"0s":                        now.UnixMilli(),
		"1772366400000":             1772366400000,
	} {
		if got, err := ParseTime(in, now); err != nil || got != want {
			t.Errorf("ParseTime(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":               "want",
		"yesterday":      "yesterday",
		"1772366400":     "seconds",
		"2026-13-01":     "2026-13-01",
		"1970-01-01":     "1970",
		"-1772366400000": "1970",
		"7x":             "7x",
		"99999d":         "99999d",
		"d":              `"d"`,
		"1d1d":           "1d1d",
	} {
		got, err := ParseTime(in, now)
		wantError(t, err, want)
		if err == nil {
			t.Errorf("ParseTime(%q) = %d", in, got)
		}
	}
}

func TestParsePartitions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]int32{
		"0": {0}, "0,3-5": {0, 3, 4, 5}, "5,3-4,3": {3, 4, 5}, " 1 , 2 ": {1, 2}, "7-7": {7},
	} {
		got, err := ParsePartitions(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParsePartitions(%q) = %v, %v, want %v", in, got, err, want)
		}
		if err == nil {
			if again, err := ParsePartitions(listText(got)); err != nil || !slices.Equal(again, want) {
				t.Errorf("ParsePartitions(%q), written as %q, = %v, %v", in, listText(got), again, err)
			}
		}
	}
	for _, in := range []string{"", "a", "1,", "-1", "5-3", "1-", "0-2000000000", "3000000000", "0-1000000,0-1000000"} {
		if got, err := ParsePartitions(in); err == nil {
			t.Errorf("ParsePartitions(%q) = %d partitions, want an error", in, len(got))
		}
	}
}

func TestParseOffsets(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]OffsetRange{
		"0:100-200":           {{0, 100, 200}},
		"3:5000-":             {{3, 5000, -1}},
		"3:-5000":             {{3, -1, 5000}},
		"3:-":                 {{3, -1, -1}},
		"1:0-5,0:7-9, 0:1-7 ": {{0, 1, 7}, {0, 7, 9}, {1, 0, 5}},
	} {
		got, err := ParseOffsets(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseOffsets(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                         "partition:start-end",
		"0":                        "partition:start-end",
		"0:5":                      "partition:start-end",
		"x:1-2":                    "partition:start-end",
		"-1:1-2":                   "partition:start-end",
		"0:1-99999999999999999999": "partition:start-end",
		"0:5-5":                    "above the start",
		"0:7-5":                    "above the start",
		"0:1-5,0:4-8":              "overlap",
		"0:1-,0:4-8":               "overlap",
		"0:-5,0:-8":                "overlap",
	} {
		_, err := ParseOffsets(in)
		wantError(t, err, want)
	}
}
