package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

// versionRange is the versions of one request this package can send.
type versionRange struct{ min, max int16 }

// spoken holds every request that can be sent at all. Metadata starts at 4, the first version that can say "create
// nothing"; Fetch at 4, the first with record batches; kafka-go's types give the upper ends.
var spoken = map[protocol.ApiKey]versionRange{
	protocol.Fetch:            {4, 11},
	protocol.ListOffsets:      {1, 5},
	protocol.DescribeLogDirs:  {0, 1}, // kafka-go has no type for it; later versions have another encoding
	protocol.Metadata:         {4, 8},
	protocol.SaslHandshake:    {1, 1},
	protocol.SaslAuthenticate: {0, 1},
}

// needed are the requests without which a broker is of no use.
var needed = []protocol.ApiKey{protocol.Fetch, protocol.ListOffsets, protocol.Metadata}

const (
	// maxGreetingFrame bounds the answers that make a connection ready, when it is not known yet who is there; a list of
	// versions is about 1 KB.
	maxGreetingFrame = 1 << 20
	// maxControlFrame bounds the other answers that are not Fetch; metadata of 100,000 partitions is about 5 MB.
	maxControlFrame = 64 << 20
	// maxFetchFrame bounds a Fetch answer. A broker sends at least one whole batch, however large.
	maxFetchFrame = 1 << 30
	// readStep is how far a buffer grows ahead of the bytes that have arrived, so that a wrong size costs no memory.
	readStep = 4 << 20
)

// conn is one connection to a broker, ready for requests: encrypted, authenticated, versions agreed. Not for several
// goroutines at once.
type conn struct {
	nc       net.Conn
	address  string
	clientID string
	timeout  time.Duration
	versions map[protocol.ApiKey]int16
	lastID   int32
	wait     time.Duration // what the broker may add to timeout for the answer under way
	frame    []byte
}

// dialer makes connections.
type dialer struct {
	clientID       string
	requestTimeout time.Duration
	tls            *tls.Config    // nil: plaintext
	mechanism      sasl.Mechanism // nil: no SASL
	username       string         // for error texts
	password       Secret         // which they must not hold
}

// dial connects to address until ctx ends. Its error is a *ConnectError or an *AuthError.
func (d *dialer) dial(ctx context.Context, address string, advertised bool) (*conn, error) {
	fail := func(err error, hint string) (*conn, error) {
		if e := ctx.Err(); errors.Is(e, context.DeadlineExceeded) && isTimeout(err) {
			err = errors.New("timed out")
		}
		return nil, &ConnectError{Address: address, Advertised: advertised, Err: shortNetError(err), Hint: hint}
	}
	nc, err := d.open(ctx, address)
	if err != nil {
		var hinted *hintError
		if errors.As(err, &hinted) {
			return fail(hinted.err, hinted.hint)
		}
		return fail(err, "")
	}
	c := &conn{nc: nc, address: address, clientID: d.clientID, timeout: d.requestTimeout}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	err = d.prepare(ctx, c)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = nc.Close()
		var auth *AuthError
		if errors.As(err, &auth) {
			return nil, err
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fail(err, d.firstAnswerHint(err))
	}
	return c, nil
}

// open dials and, when configured, shakes hands for TLS.
func (d *dialer) open(ctx context.Context, address string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil || d.tls == nil {
		return nc, err
	}
	config := d.tls.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(nc, config)
	err = d.shakeHands(ctx, secured, address)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return secured, nil
}

// probeAfter is how long a TLS handshake may be silent before the port is tried in plain text.
const probeAfter = time.Second

// shakeHands does the TLS handshake. A plaintext broker takes the greeting for the size of a huge request and waits for
// the rest, or hangs up; so a handshake that stays silent or ends early is answered by a question in plain text over a
// second connection, which only a plaintext broker answers.
func (d *dialer) shakeHands(ctx context.Context, secured *tls.Conn, address string) error {
	done := make(chan error, 1)
	go func() { done <- secured.HandshakeContext(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-time.After(probeAfter):
		if d.speaksPlaintext(ctx, address) {
			_ = secured.Close()
			<-done
			return errTLSToPlaintext
		}
		err = <-done
	}
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &authority):
		return &hintError{&foreignError{authority}, "give the authority's certificate in ssl.ca.location (librdkafka) or a PEM ssl.truststore.location (Java)"}
	case errors.As(err, &name):
		return &hintError{&foreignError{name}, "connect by a name the certificate holds, or set ssl.endpoint.identification.algorithm= to skip this check"}
	case errors.As(err, &record):
		return errTLSToPlaintext
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		if d.speaksPlaintext(ctx, address) {
			return errTLSToPlaintext
		}
		return fmt.Errorf("TLS handshake: %w", errClosed)
	}
	return fmt.Errorf("TLS handshake: %w", &foreignError{err})
}

// hintError is an error with what to check.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }

var errTLSToPlaintext = &hintError{
	errors.New("the port does not speak TLS"),
	"security.protocol asks for TLS but this port is plaintext: use the TLS listener's port, or PLAINTEXT or SASL_PLAINTEXT",
}

var errPlaintextToTLS = errors.New("the port speaks TLS")

const hintPlaintextToTLS = "security.protocol is without TLS but this port expects it: use SSL or SASL_SSL"

// speaksPlaintext reports whether a broker answers in plain text at address. It sends no credentials.
func (d *dialer) speaksPlaintext(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeAfter)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	c := &conn{nc: nc, address: address, clientID: d.clientID, timeout: probeAfter}
	return c.agree() == nil
}

func (d *dialer) prepare(ctx context.Context, c *conn) error {
	if err := c.agree(); err != nil {
		return err
	}
	if d.mechanism != nil {
		if err := d.authenticate(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// firstAnswerHint tells what a first answer that is none may mean.
func (d *dialer) firstAnswerHint(err error) string {
	switch {
	case errors.Is(err, errPlaintextToTLS):
		return hintPlaintextToTLS
	case strings.Contains(err.Error(), "tls: certificate required"), strings.Contains(err.Error(), "tls: bad certificate"):
		return "the listener wants a client certificate it trusts: ssl.certificate.location and ssl.key.location"
	case errors.Is(err, errClosed) && d.tls == nil:
		return "the port may expect TLS (security.protocol SSL or SASL_SSL), or is not a Kafka listener"
	}
	return ""
}

// agree asks for the broker's versions and picks the highest both sides speak.
func (c *conn) agree() error {
	const version = 0 // every broker answers version 0, whatever it else knows
	c.versions = map[protocol.ApiKey]int16{protocol.ApiVersions: version}
	m, err := c.roundTrip(&apiversions.Request{})
	if err != nil {
		return err
	}
	answer := m.(*apiversions.Response)
	if answer.ErrorCode != 0 {
		return fmt.Errorf("asking for the broker's versions: %w", Code(answer.ErrorCode))
	}
	theirs := make(map[protocol.ApiKey]versionRange, len(answer.ApiKeys))
	for _, k := range answer.ApiKeys {
		theirs[protocol.ApiKey(k.ApiKey)] = versionRange{k.MinVersion, k.MaxVersion}
	}
	for key, ours := range spoken {
		if v, ok := common(ours, theirs[key], key, theirs); ok {
			c.versions[key] = v
		}
	}
	for _, key := range needed {
		if _, ok := c.versions[key]; ok {
			continue
		}
		ours := spoken[key]
		broker, known := theirs[key]
		if !known {
			return fmt.Errorf("the broker does not offer %s, which reading needs", key)
		}
		return fmt.Errorf("no common version of %s: the broker speaks v%d to v%d, keyspread v%d to v%d (Kafka 0.11 and later)",
			key, broker.min, broker.max, ours.min, ours.max)
	}
	return nil
}

func common(ours, broker versionRange, key protocol.ApiKey, theirs map[protocol.ApiKey]versionRange) (int16, bool) {
	if _, known := theirs[key]; !known {
		return 0, false
	}
	v := min(ours.max, broker.max)
	return v, v >= max(ours.min, broker.min)
}

// authenticate does the SASL exchange.
func (d *dialer) authenticate(ctx context.Context, c *conn) error {
	mechanism := d.mechanism
	fail := func(err error) error {
		return &AuthError{Address: c.address, Mechanism: mechanism.Name(), Username: d.username, Err: err}
	}
	for _, key := range []protocol.ApiKey{protocol.SaslHandshake, protocol.SaslAuthenticate} {
		if _, ok := c.versions[key]; !ok {
			return fail(fmt.Errorf("the broker offers no %s this client understands (Kafka 1.0 and later)", key))
		}
	}
	m, err := c.roundTrip(&saslhandshake.Request{Mechanism: mechanism.Name()})
	if err != nil {
		return fail(err)
	}
	shake := m.(*saslhandshake.Response)
	switch code := Code(shake.ErrorCode); code {
	case codeNone:
	case codeUnsupportedMechanism:
		return fail(fmt.Errorf("the broker does not offer this mechanism, it offers %s: set sasl.mechanism",
			foreign(fmt.Sprintf("%q", shake.Mechanisms))))
	case codeIllegalSASLState:
		return fail(errors.New("the listener does without SASL: use PLAINTEXT or SSL as security.protocol, or another port"))
	default:
		return fail(code)
	}
	host, _, _ := net.SplitHostPort(c.address)
	ctx = sasl.WithMetadata(ctx, &sasl.Metadata{Host: host})
	state, message, err := mechanism.Start(ctx)
	if err != nil {
		return fail(errors.New("the credentials cannot be encoded"))
	}
	for done := false; !done; {
		m, err := c.roundTrip(&saslauthenticate.Request{AuthBytes: message})
		switch {
		case errors.Is(err, errClosed):
			return fail(fmt.Errorf("%w: wrong user name or password?", err))
		case err != nil:
			return fail(err)
		}
		answer := m.(*saslauthenticate.Response)
		if answer.ErrorCode != 0 {
			if answer.ErrorMessage != "" {
				return fail(errors.New(d.said(answer.ErrorMessage)))
			}
			return fail(Code(answer.ErrorCode))
		}
		if done, message, err = state.Next(ctx, answer.AuthBytes); err != nil {
			return fail(fmt.Errorf("the broker's side of the exchange does not fit: %s", d.said(err.Error())))
		}
	}
	return nil
}

// said makes a text of the broker's fit to be shown, also one that repeats the password.
func (d *dialer) said(text string) string {
	if d.password != "" {
		text = strings.ReplaceAll(text, string(d.password), "***")
	}
	return foreign(text)
}

// Close closes the connection.
func (c *conn) Close() error { return c.nc.Close() }

// send writes a request; its answer is read by receive. wait is how long the broker may hold it.
func (c *conn) send(msg protocol.Message, wait time.Duration) error {
	version, ok := c.versions[msg.ApiKey()]
	if !ok {
		return fmt.Errorf("the broker at %s offers no %s this client understands", c.address, msg.ApiKey())
	}
	c.lastID++
	c.wait = wait
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return shortNetError(err)
	}
	if err := protocol.WriteRequest(c.nc, version, c.lastID, c.clientID, msg); err != nil {
		return shortNetError(err)
	}
	return nil
}

// roundTripRaw sends a request whose body is encoded already, with the header that versions without tags have, and
// returns the body of its answer, which is valid until the next request.
func (c *conn) roundTripRaw(key protocol.ApiKey, body []byte) ([]byte, error) {
	c.lastID++
	c.wait = 0
	be := binary.BigEndian
	b := be.AppendUint32(nil, uint32(2+2+4+2+len(c.clientID)+len(body)))
	b = be.AppendUint16(b, uint16(key))
	b = be.AppendUint16(b, uint16(c.versions[key]))
	b = be.AppendUint32(b, uint32(c.lastID))
	b = be.AppendUint16(b, uint16(len(c.clientID)))
	b = append(append(b, c.clientID...), body...)
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, shortNetError(err)
	}
	if _, err := c.nc.Write(b); err != nil {
		return nil, shortNetError(err)
	}
	var err error
	if c.frame, err = c.receive(c.frame, maxControlFrame); err != nil {
		return nil, err
	}
	return c.frame[8:], nil
}

// receive reads one frame into buf, growing it when needed, and returns the frame with its size field. The answer must
// be the one to the last request.
func (c *conn) receive(buf []byte, limit int) ([]byte, error) {
	if err := c.nc.SetReadDeadline(time.Now().Add(c.timeout + c.wait)); err != nil {
		return buf, shortNetError(err)
	}
	frame, err := readFrame(c.nc, buf, limit)
	if err != nil {
		return frame, shortNetError(err)
	}
	if id := int32(binary.BigEndian.Uint32(frame[4:])); id != c.lastID {
		return frame, fmt.Errorf("the broker answered request %d, not %d", id, c.lastID)
	}
	return frame, nil
}

// readFrame reads a size and as many bytes. It returns buf, possibly grown, also with an error.
func readFrame(r io.Reader, buf []byte, limit int) ([]byte, error) {
	if cap(buf) < 64 {
		buf = make([]byte, 64)
	}
	buf = buf[:4]
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf, err
	}
	size := int(binary.BigEndian.Uint32(buf))
	if looksLikeTLS(buf) {
		return buf, errPlaintextToTLS
	}
	// 4: the correlation id, which is checked by every caller.
	if size < 4 || size > limit {
		return buf, fmt.Errorf("an answer of %d bytes was announced, want 4 to %d: not a Kafka listener?", uint32(size), limit)
	}
	for have, want := 4, 4+size; have < want; {
		step := min(want, max(have+readStep, cap(buf)))
		if cap(buf) < step {
			grown := make([]byte, step)
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:step]
		n, err := io.ReadFull(r, buf[have:step])
		have += n
		if err != nil {
			return buf, io.ErrUnexpectedEOF
		}
	}
	return buf, nil
}

// looksLikeTLS tells a TLS alert or handshake record from the size of a Kafka answer.
func looksLikeTLS(b []byte) bool {
	const alert, handshake = 0x15, 0x16
	return (b[0] == alert || b[0] == handshake) && b[1] == 3 && b[2] <= 4
}

// roundTrip sends a request and decodes its answer.
func (c *conn) roundTrip(msg protocol.Message) (protocol.Message, error) {
	if err := c.send(msg, 0); err != nil {
		return nil, err
	}
	key, limit := msg.ApiKey(), maxControlFrame
	switch key {
	case protocol.ApiVersions, protocol.SaslHandshake, protocol.SaslAuthenticate:
		limit = maxGreetingFrame
	}
	var err error
	if c.frame, err = c.receive(c.frame, limit); err != nil {
		return nil, err
	}
	if err := checkLayout(c.frame[8:], key, c.versions[key]); err != nil {
		return nil, &malformedError{key, err}
	}
	_, answer, err := protocol.ReadResponse(bytes.NewReader(c.frame), key, c.versions[key])
	if err != nil {
		return nil, &malformedError{key, err}
	}
	return answer, nil
}

// malformedError says that an answer makes no sense. Asking again would bring the same.
type malformedError struct {
	request protocol.ApiKey
	err     error
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("reading the answer to %s: %v", e.request, e.err)
}

func (e *malformedError) Unwrap() error { return e.err }

// shortNetError turns the network's errors into words without the addresses the caller names anyway.
func shortNetError(err error) error {
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errClosed
	case isTimeout(err):
		return errTimedOut
	case errors.As(err, &op) && op.Op == "dial":
		return op.Err
	}
	return err
}

var errTimedOut = errors.New("no answer in time")

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
