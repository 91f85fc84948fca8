package kafka

import (
	"sync"
	"time"
)

// bucket keeps all connections together under a rate. Bytes are paid for after they came: a request may be sent when
// everything received so far is paid for, so an answer larger than expected only lengthens the next pause.
type bucket struct {
	rate int64 // bytes per second; 0: no limit

	mu   sync.Mutex
	paid time.Time // when everything received so far is paid for
}

// pay adds n bytes received at now.
func (b *bucket) pay(n int64, now time.Time) {
	if b.rate == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paid.Before(now) {
		b.paid = now
	}
	b.paid = b.paid.Add(time.Duration(float64(n) / float64(b.rate) * float64(time.Second)))
}

// wait returns how long after now the next request may be sent; 0: at once.
func (b *bucket) wait(now time.Time) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.paid.Sub(now))
}

// answerBytes is the size to ask answers in: a tenth of a second's worth, shared by the connections, so that traffic is
// even; never under 16 KiB, as small answers cost the broker more than they spare the network.
func (b *bucket) answerBytes(configured int32, connections int) int32 {
	if b.rate == 0 {
		return configured
	}
	const least = 16 << 10
	return int32(min(int64(configured), max(least, b.rate/10/int64(connections))))
}
