package batch

import "encoding/binary"

// AbortedTxn is an entry of the aborted transactions that a broker lists with a Fetch answer, or that a segment's
// .txnindex holds: the transaction of the producer that began at FirstOffset was aborted.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
}

// TxnState holds the producers of one partition whose transaction is known to be aborted and whose abort marker has not
// been passed yet. It carries that from one record set of a partition to the next; the zero value holds none. Start a
// new one when the position is moved by anything but the scanner.
type TxnState struct {
	aborted map[int64]struct{}
}

func (t *TxnState) add(producer int64) {
	if t.aborted == nil {
		t.aborted = make(map[int64]struct{})
	}
	t.aborted[producer] = struct{}{}
}

func (t *TxnState) has(producer int64) bool {
	_, ok := t.aborted[producer]
	return ok
}

// isAbortMarker reads the key of a control record: version int16, type int16. Type 0 is abort, 1 is commit; others are
// not about transactions.
func isAbortMarker(key []byte) bool {
	return len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}
