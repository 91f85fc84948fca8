package reports

import "testing"

// TestAnswerText: what stands after "placement" says where the report's partitioner is from, and does not contradict
// itself where the keys do not tell or another one than theirs was kept.
func TestAnswerText(t *testing.T) {
	crc := "crc32u"
	all := PlacementWriter{Partitioner: &crc, NumPartitions: 12, Records: ShareRange{Estimate: new(1.0), Lo: 1, Hi: 1}}
	for _, tc := range []struct {
		partitioner, answer string
		writers             []PlacementWriter
		reason, want        string
	}{
		{crc, "explained", []PlacementWriter{all}, "", "crc32u, as named: crc32u places 100 % of keyed records"},
		{
			crc, "explained",
			[]PlacementWriter{all},
			"told from the keys: crc32u places 100 % of the keyed records",
			"crc32u, told from the keys: crc32u places 100 % of keyed records",
		},
		{
			"java", "explained",
			[]PlacementWriter{all},
			"kept, as there are more keys than the memory budget holds: crc32u places 100 % of the keyed records",
			"java, kept, as there are more keys than the memory budget holds: crc32u places 100 % of the keyed records",
		},
		{
			"java", "too-few-keys", nil, "not told from the keys: 1 placement is too few to tell who placed them",
			"java, not told from the keys: 1 placement is too few to tell who placed them",
		},
		{"java", "unexplained", nil, "", "java, as named; who wrote the topic: unexplained"},
	} {
		r := &Report{
			Topic:     Topic{Partitioner: tc.partitioner, NumPartitions: 12},
			Placement: &Placement{Answer: tc.answer, Writers: tc.writers, AllCompared: true},
		}
		if tc.reason != "" {
			r.Placement.Reason = &tc.reason
		}
		if got := answerText(r); got != tc.want {
			t.Errorf("%s, %s, %q:\n got %q\nwant %q", tc.partitioner, tc.answer, tc.reason, got, tc.want)
		}
	}
}
