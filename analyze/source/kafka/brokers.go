package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// brokers hands out connections and keeps those that are not used. It is safe for several goroutines.
type brokers struct {
	dialer    *dialer
	bootstrap []string
	timeout   time.Duration // for one connection

	mu    sync.Mutex
	known map[int32]string // addresses by id, as last advertised
	idle  map[string][]*conn
}

// learn replaces the known addresses.
func (b *brokers) learn(known map[int32]string) {
	b.mu.Lock()
	b.known = known
	b.mu.Unlock()
}

// to returns a connection to a broker by id.
func (b *brokers) to(ctx context.Context, id int32) (*conn, error) {
	b.mu.Lock()
	address, ok := b.known[id]
	c := b.takeIdle(address)
	b.mu.Unlock()
	switch {
	case c != nil:
		return c, nil
	case !ok:
		return nil, fmt.Errorf("broker %d is not in the cluster's metadata", id)
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.dialer.dial(ctx, address, !slices.Contains(b.bootstrap, address))
}

// takeIdle takes a connection that is not used; nil when there is none. The lock is held.
func (b *brokers) takeIdle(address string) *conn {
	free := b.idle[address]
	if len(free) == 0 {
		return nil
	}
	b.idle[address] = free[:len(free)-1]
	return free[len(free)-1]
}

// any returns a connection to some broker: one that is open, else a bootstrap server, else any broker known. Several
// addresses share the time that is left, so that one that swallows packets does not cost the others theirs.
func (b *brokers) any(ctx context.Context) (*conn, error) {
	b.mu.Lock()
	addresses := slices.Clone(b.bootstrap)
	for _, id := range slices.Sorted(maps.Keys(b.known)) {
		if address := b.known[id]; !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	for _, address := range addresses {
		if c := b.takeIdle(address); c != nil {
			b.mu.Unlock()
			return c, nil
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	var errs []error
	for i, address := range addresses {
		c, err := b.dialShare(ctx, address, i >= len(b.bootstrap), len(addresses)-i)
		if err == nil {
			return c, nil
		}
		var auth *AuthError
		if errors.As(err, &auth) {
			return nil, err // the other brokers know the same users
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (b *brokers) dialShare(ctx context.Context, address string, advertised bool, shares int) (*conn, error) {
	if deadline, ok := ctx.Deadline(); ok && shares > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(shares))
		defer cancel()
	}
	return b.dialer.dial(ctx, address, advertised)
}

// keep takes back a connection that has no request in flight.
func (b *brokers) keep(c *conn) {
	b.mu.Lock()
	b.idle[c.address] = append(b.idle[c.address], c)
	b.mu.Unlock()
}

// close closes the connections that are not used.
func (b *brokers) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, free := range b.idle {
		for _, c := range free {
			_ = c.Close()
		}
	}
	clear(b.idle)
}
