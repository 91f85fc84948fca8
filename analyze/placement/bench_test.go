package placement

import (
	"fmt"
	"testing"

	"keyspread/analyze/profile"
)

// BenchmarkJudge judges topics of one million keys at 12 and at 1000 partitions; the profile is not timed.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{12, 1000} {
		b.Run(fmt.Sprintf("keys=1M/n=%d", n), func(b *testing.B) {
			const keys = 1_000_000
			tp := newTopic(n)
			tp.write(b, parse(b, "crc32u"), n, someKeys(3, keys)...)
			p := tp.profile(b, profile.DefaultConfig())
			for b.Loop() {
				if pl := Judge(p, DefaultConfig()); pl.Answer != Explained {
					b.Fatal(pl.summary())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
		})
	}
}
