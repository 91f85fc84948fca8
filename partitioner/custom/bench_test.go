package custom

import (
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkPlaceBatch measures how many distinct keys a second a partitioner places at three counts. In-process is
// crc32 without a child, which the Go and the Python child compute too; the JVM computes murmur2, four times.
func BenchmarkPlaceBatch(b *testing.B) {
	keys := make([][]byte, 100_000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "customer-%d", i)
	}
	counts := []int32{12, 24, 48}
	out, keyed := make([]int32, len(keys)*len(counts)), make([]bool, len(keys))

	inProcess := func() {
		for k, key := range keys {
			for c, n := range counts {
				out[k*len(counts)+c] = crcPlace(key, n)
			}
		}
	}
	for _, child := range []struct {
		name string
		open func(b *testing.B) *P
	}{
		{"go", func(b *testing.B) *P {
			spec, opt := testExec(b, "good")
			return open(b, spec, opt)
		}},
		{"python", func(b *testing.B) *P {
			python, err := exec.LookPath("python3")
			if err != nil {
				lacking(b, "no python3 on the PATH")
			}
			return open(b, "exec:"+python+" testdata/reference.py", Options{Timeout: time.Minute})
		}},
		{"jvm", func(b *testing.B) *P { return open(b, "jvm:com.example.Murmur2Partitioner", userClasses(b)) }},
	} {
		b.Run("child="+child.name, func(b *testing.B) {
			p := child.open(b)
			var asked, own time.Duration
			for b.Loop() {
				start := time.Now()
				if err := p.PlaceBatch(keys, counts, out, keyed); err != nil {
					b.Fatal(err)
				}
				asked += time.Since(start)
				start = time.Now()
				inProcess()
				own += time.Since(start)
			}
			b.ReportMetric(float64(len(keys))*float64(b.N)/asked.Seconds(), "keys/s")
			b.ReportMetric(asked.Seconds()/own.Seconds(), "x-in-process")
			b.ReportMetric(0, "ns/op") // would be of both together
		})
	}
}

// BenchmarkPlace measures the trip to the child and back.
func BenchmarkPlace(b *testing.B) {
	spec, opt := testExec(b, "good")
	p := open(b, spec, opt)
	counts, out := []int32{12}, make([]int32, 1)
	for b.Loop() {
		if _, err := p.Place([]byte("customer-7"), counts, out); err != nil {
			b.Fatal(err)
		}
	}
}
