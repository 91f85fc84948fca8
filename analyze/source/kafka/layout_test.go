package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sampleAnswers are answers with every kind of field, of all that kafka-go decodes.
func sampleAnswers() map[protocol.ApiKey]kmsg.Response {
	text := func(s string) *string { return &s }
	return map[protocol.ApiKey]kmsg.Response{
		protocol.ApiVersions: &kmsg.ApiVersionsResponse{ApiKeys: []kmsg.ApiVersionsResponseApiKey{{ApiKey: 1, MinVersion: 2, MaxVersion: 3}, {ApiKey: 4}}},
		protocol.ListOffsets: &kmsg.ListOffsetsResponse{Topics: []kmsg.ListOffsetsResponseTopic{
			{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Partition: 1, Offset: 5}, {Partition: 2, ErrorCode: 6}}}, {Topic: "u"},
		}},
		protocol.Metadata: &kmsg.MetadataResponse{
			ClusterID: text("c"),
			Brokers:   []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "h", Port: 9092, Rack: text("r")}, {NodeID: 2, Host: "i"}},
			Topics: []kmsg.MetadataResponseTopic{{Topic: text("t"), Partitions: []kmsg.MetadataResponseTopicPartition{
				{Partition: 0, Replicas: []int32{1, 2}, ISR: []int32{1}, OfflineReplicas: []int32{2}}, {Partition: 1},
			}}, {Topic: text("u")}},
		},
		protocol.SaslHandshake:    &kmsg.SASLHandshakeResponse{SupportedMechanisms: []string{"PLAIN", "SCRAM-SHA-256"}},
		protocol.SaslAuthenticate: &kmsg.SASLAuthenticateResponse{ErrorMessage: text("no"), SASLAuthBytes: []byte("bytes")},
	}
}

// Every version of every answer is read over to its last byte, which is also where kafka-go's decoder ends, and nothing
// that lacks a byte is accepted.
func TestCheckLayout(t *testing.T) {
	t.Parallel()
	samples := sampleAnswers()
	for key := range decoded {
		versions := spoken[key] // ApiVersions is not in it: only version 0 is asked for
		for version := versions.min; version <= versions.max; version++ {
			sample := samples[key]
			sample.SetVersion(version)
			body := sample.AppendTo(nil)
			l := layoutOf(decoded[key], version)
			r := reader{b: body}
			if r.skip(&l); r.err != nil || len(r.b) > 0 {
				t.Errorf("%s v%d: %v with %d of %d bytes left", key, version, r.err, len(r.b), len(body))
			}
			for n := range body {
				if checkLayout(body[:n], key, version) == nil {
					t.Errorf("%s v%d: the first %d of %d bytes are accepted", key, version, n, len(body))
				}
			}
		}
	}
	if err := checkLayout(nil, protocol.Fetch, 4); err == nil {
		t.Error("an answer without a layout is accepted")
	}
}

// FuzzCheckLayout holds for any body: what is accepted, kafka-go decodes, to as many elements as the body has room for.
func FuzzCheckLayout(f *testing.F) {
	samples := sampleAnswers()
	for key := range decoded {
		sample := samples[key]
		sample.SetVersion(spoken[key].max)
		f.Add(sample.AppendTo(nil), int16(key), spoken[key].max)
	}
	f.Fuzz(func(t *testing.T, body []byte, k, version int16) {
		key := protocol.ApiKey(k)
		if decoded[key] == nil || version < spoken[key].min || version > spoken[key].max {
			return
		}
		if checkLayout(body, key, version) != nil {
			return
		}
		frame := slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(4+len(body))), make([]byte, 4), body)
		_, got, err := protocol.ReadResponse(bytes.NewReader(frame), key, version)
		if err != nil {
			t.Fatalf("%s v%d: accepted, but kafka-go says %v", key, version, err)
		}
		if n := elements(reflect.ValueOf(got)); n > len(body) {
			t.Fatalf("%s v%d: %d elements in %d bytes", key, version, n, len(body))
		}
	})
}

// elements counts the elements of all slices in v.
func elements(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return elements(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			n += elements(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += 1 + elements(v.Index(i))
		}
	}
	return n
}

// rawAnswer is an answer of any bytes.
type rawAnswer struct {
	kmsg.Response
	body []byte
}

func (a rawAnswer) AppendTo(b []byte) []byte { return append(b, a.body...) }

// answerRaw makes a cluster answer a request with the bytes that f makes of a sample.
func answerRaw(c *kfake.Cluster, key kmsg.Key, f func(kmsg.Request) []byte) {
	c.ControlKey(int16(key), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return rawAnswer{q.ResponseKind(), f(q)}, nil, true
	})
}

// A few bytes that announce many elements cost no memory and no time, whatever the answer.
func TestPlanRefusesCountsThatLie(t *testing.T) { // not parallel: it counts what the process allocates
	const announced, partition = 1<<31 - 1, 26 // bytes of a partition in version 8 without replicas
	huge := binary.BigEndian.AppendUint32(nil, announced)
	for _, test := range []struct {
		name string
		key  kmsg.Key
		body func(kmsg.Request) []byte
		want []string
	}{
		{"versions", kmsg.ApiVersions, func(kmsg.Request) []byte { return slices.Concat([]byte{0, 0}, huge) }, []string{"ApiVersions", errCount.Error()}},
		{"brokers", kmsg.Metadata, func(kmsg.Request) []byte { return slices.Concat([]byte{0, 0, 0, 0}, huge) }, []string{"Metadata", errCount.Error()}},
		{"partitions", kmsg.Metadata, func(q kmsg.Request) []byte {
			sample := sampleAnswers()[protocol.Metadata].(*kmsg.MetadataResponse)
			sample.SetVersion(q.GetVersion())
			sample.Topics = sample.Topics[1:] // its partitions' count and two int32 of allowed operations come last
			b := sample.AppendTo(nil)
			return slices.Concat(b[:len(b)-8-4], huge, make([]byte, partition))
		}, []string{"Metadata", errCount.Error()}},
		{"offsets", kmsg.ListOffsets, func(kmsg.Request) []byte {
			return slices.Concat([]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 'w'}, huge)
		}, []string{"ListOffsets", errCount.Error()}},
		{"a greeting of 2 MB", kmsg.ApiVersions, func(kmsg.Request) []byte { return make([]byte, 2<<20) }, []string{"not a Kafka listener"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 1, kfake.SeedTopics(1, "w"))
			answerRaw(c, test.key, test.body)
			config := testConfig(c, "w")
			config.ConnectTimeout = 20 * time.Second
			s := newSource(t, config)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := s.Plan(context.Background())
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			wantError(t, err, append(test.want, c.ListenAddrs()[0])...)
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
				t.Errorf("%d bytes were allocated for an answer of a few", n)
			}
			if took > 5*time.Second {
				t.Errorf("took %v, want it told at once", took)
			}
		})
	}
}
