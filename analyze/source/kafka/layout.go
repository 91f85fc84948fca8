package kafka

import (
	"fmt"
	"reflect"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
)

// decoded are the answers that kafka-go decodes.
var decoded = map[protocol.ApiKey]reflect.Type{
	protocol.ApiVersions:      reflect.TypeFor[apiversions.Response](),
	protocol.ListOffsets:      reflect.TypeFor[listoffsets.Response](),
	protocol.Metadata:         reflect.TypeFor[metadata.Response](),
	protocol.SaslAuthenticate: reflect.TypeFor[saslauthenticate.Response](),
	protocol.SaslHandshake:    reflect.TypeFor[saslhandshake.Response](),
}

// checkLayout reads over the body of an answer that kafka-go is to decode. Its decoder makes room for as many elements
// as an array announces, so that a few bytes could take all memory; here every count and length is checked against what
// is left of the body. The version must be one without tagged fields, as all in [spoken] are.
func checkLayout(body []byte, key protocol.ApiKey, version int16) error {
	t, ok := decoded[key]
	if !ok {
		return fmt.Errorf("no layout of %s is known", key)
	}
	r, l := reader{b: body}, layoutOf(t, version)
	r.skip(&l)
	return r.err
}

// layout is how a type stands in an answer.
type layout struct {
	kind  reflect.Kind
	size  int      // bytes it takes at least
	parts []layout // the fields of a struct, the element of a slice
}

// layoutOf follows kafka-go's encoding: fields in their order, those whose tag "min=v0,max=v8" includes the version.
func layoutOf(t reflect.Type, version int16) layout {
	l := layout{kind: t.Kind(), size: int(t.Size())}
	switch l.kind {
	case reflect.String:
		l.size = 2 // its length
	case reflect.Slice:
		l.size = 4 // its length
		l.parts = []layout{layoutOf(t.Elem(), version)}
	case reflect.Struct:
		l.size = 0
		for f := range t.Fields() {
			var first, last int16
			if n, _ := fmt.Sscanf(f.Tag.Get("kafka"), "min=v%d,max=v%d", &first, &last); n == 2 && first <= version && version <= last {
				part := layoutOf(f.Type, version)
				l.parts = append(l.parts, part)
				l.size += part.size
			}
		}
	}
	return l
}

// skip reads over what l describes.
func (r *reader) skip(l *layout) {
	switch l.kind {
	case reflect.String:
		r.string()
	case reflect.Slice:
		element := &l.parts[0]
		for range r.count(max(element.size, 1)) {
			if r.skip(element); r.err != nil {
				return
			}
		}
	case reflect.Struct:
		for i := range l.parts {
			r.skip(&l.parts[i])
		}
	default:
		r.take(l.size)
	}
}
