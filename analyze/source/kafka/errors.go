package kafka

import (
	"errors"
	"fmt"
	"strings"

	kafkago "github.com/segmentio/kafka-go"
)

// Code is an error code of Kafka's protocol, as a broker answered it.
type Code int16

// The codes this package acts on.
const (
	codeUnknownServer         Code = -1
	codeNone                  Code = 0
	codeOffsetOutOfRange      Code = 1
	codeUnknownTopic          Code = 3
	codeLeaderNotAvailable    Code = 5
	codeNotLeader             Code = 6
	codeRequestTimedOut       Code = 7
	codeBrokerNotAvailable    Code = 8
	codeReplicaNotAvailable   Code = 9
	codeNetworkException      Code = 13
	codeInvalidTopic          Code = 17
	codeTopicNotAuthorized    Code = 29
	codeUnsupportedMechanism  Code = 33
	codeIllegalSASLState      Code = 34
	codeKafkaStorage          Code = 56
	codeSASLFailed            Code = 58
	codeFencedLeaderEpoch     Code = 74
	codeUnknownLeaderEpoch    Code = 75
	codeOffsetNotAvailable    Code = 78
	codeThrottlingQuota       Code = 89
	codeUnknownTopicID        Code = 100
	codeInconsistentTopicID   Code = 103
	codeListenerNotFound      Code = 72
	codePreferredNotAvailable Code = 80
)

// Error returns Kafka's name of the code and the code, "not leader for partition (6)".
func (c Code) Error() string {
	if c == codeUnknownServer {
		return "unknown server error (-1)"
	}
	if title := kafkago.Error(c).Title(); title != "" {
		return fmt.Sprintf("%s (%d)", strings.ToLower(title), int16(c))
	}
	return fmt.Sprintf("error code %d", int16(c))
}

// passing reports whether the trouble ends by itself, or by asking for metadata again.
func (c Code) passing() bool {
	switch c {
	case codeUnknownServer, codeUnknownTopic, codeLeaderNotAvailable, codeNotLeader, codeRequestTimedOut,
		codeBrokerNotAvailable, codeReplicaNotAvailable, codeNetworkException, codeKafkaStorage, codeListenerNotFound,
		codeFencedLeaderEpoch, codeUnknownLeaderEpoch, codeOffsetNotAvailable, codePreferredNotAvailable,
		codeThrottlingQuota, codeUnknownTopicID, codeInconsistentTopicID:
		return true
	}
	return false
}

// ConnectError says that a broker could not be used: not reached, or not understood.
type ConnectError struct {
	Address    string // host:port
	Advertised bool   // the address came from the cluster's metadata, not from the configuration
	Err        error
	Hint       string // what to check; may be empty
}

// Error names the address, where it came from and what to check.
func (e *ConnectError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "connecting to %s", e.Address)
	if e.Advertised {
		b.WriteString(" (the address the cluster advertises)")
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	hint := e.Hint
	if hint == "" && e.Advertised {
		hint = "the bootstrap server answered but this address does not: check advertised.listeners of the broker, " +
			"or run where its address can be reached"
	}
	if hint != "" {
		fmt.Fprintf(&b, " (%s)", hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// AuthError says that a broker refused the SASL credentials. It never holds the password.
type AuthError struct {
	Address   string
	Mechanism string
	Username  string
	Err       error
}

// Error names the broker, the mechanism and the user.
func (e *AuthError) Error() string {
	return fmt.Sprintf("authenticating as %q with %s at %s: %v", e.Username, e.Mechanism, e.Address, e.Err)
}

// Unwrap returns the cause.
func (e *AuthError) Unwrap() error { return e.Err }

// UnknownTopicError says that the cluster has no such topic. Nothing was created.
type UnknownTopicError struct {
	Topic   string
	Nearest []string // topics with nearly this name, nearest first; empty when none is near or listing is not allowed
}

// Error names the topic and those with nearly its name.
func (e *UnknownTopicError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("topic %q does not exist on this cluster, or may not be described by this user", e.Topic)
	}
	quoted := make([]string, len(e.Nearest))
	for i, n := range e.Nearest {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return fmt.Sprintf("topic %q does not exist on this cluster: did you mean %s?", e.Topic, strings.Join(quoted, " or "))
}

// TopicAuthorizationError says that the user may not do this with the topic.
type TopicAuthorizationError struct {
	Topic     string
	Operation string // DESCRIBE or READ
}

// Error names the topic and the ACL operation that is missing.
func (e *TopicAuthorizationError) Error() string {
	return fmt.Sprintf("topic %q: not authorized: the user needs the ACL operation %s on it", e.Topic, e.Operation)
}

// PartitionError says at which offset reading a partition stopped, and why.
type PartitionError struct {
	Topic     string
	Partition int32
	Offset    int64 // where it stopped; -1 when it never started
	Err       error
}

// Error names the topic, the partition and the offset.
func (e *PartitionError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("reading %s partition %d: %v", e.Topic, e.Partition, e.Err)
	}
	return fmt.Sprintf("reading %s partition %d at offset %d: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *PartitionError) Unwrap() error { return e.Err }

// RangeError says that offsets were asked for which the partition does not have.
type RangeError struct {
	Topic               string
	Partition           int32
	Start, End          int64 // asked, half-open
	LogStart, EndOffset int64 // available, half-open
}

// Error names the partition, the offsets asked for and those available.
func (e *RangeError) Error() string {
	return fmt.Sprintf("topic %s partition %d: offsets %d-%d asked for, %d-%d available (ends are exclusive)",
		e.Topic, e.Partition, e.Start, e.End, e.LogStart, e.EndOffset)
}

var errClosed = errors.New("the broker closed the connection")
