package fetchtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Server serves the topics of one folder on a loopback port.
type Server struct {
	listener net.Listener
	topics   map[string][]log
	names    []string

	mu    sync.Mutex
	conns map[net.Conn]bool // nil: closed
}

// Start reads the topics of dir and serves them until Close.
func Start(dir string) (*Server, error) {
	s := &Server{topics: make(map[string][]log), conns: make(map[net.Conn]bool)}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		if s.topics[f.Name()], err = openLogs(filepath.Join(dir, f.Name())); err != nil {
			return nil, err
		}
		s.names = append(s.names, f.Name())
	}
	slices.Sort(s.names)
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go s.accept()
	return s, nil
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close stops the server and closes its connections.
func (s *Server) Close() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.conns == nil {
			nc.Close()
		} else {
			s.conns[nc] = true
		}
		s.mu.Unlock()
		go func() {
			defer nc.Close()
			c := &connection{server: s, conn: nc.(*net.TCPConn), in: bufio.NewReader(nc), files: make(map[string]*os.File)}
			defer c.closeFiles()
			if err := c.serve(); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				fmt.Fprintln(os.Stderr, "fetchtest:", err)
			}
			s.mu.Lock()
			delete(s.conns, nc)
			s.mu.Unlock()
		}()
	}
}

// The API keys that are answered.
const (
	keyFetch       = 1
	keyListOffsets = 2
	keyMetadata    = 3
	keyAPIVersions = 18
)

// spoken is what ApiVersions tells, least and most. Fetch 12 and Metadata 9 are the first in the flexible encoding.
var spoken = map[int16][2]int16{
	keyFetch:       {4, 11},
	keyListOffsets: {1, 5},
	keyMetadata:    {0, 8},
	keyAPIVersions: {0, 3},
}

// connection is one consumer's. Its files are its own, as sendfile moves a file's position.
type connection struct {
	server *Server
	conn   *net.TCPConn
	in     *bufio.Reader
	files  map[string]*os.File
	frame  []byte
	out    []byte
}

func (c *connection) closeFiles() {
	for _, f := range c.files {
		f.Close()
	}
}

// maxRequest is far above any request that is understood.
const maxRequest = 1 << 20

// serve answers until the consumer goes away or sends what is not understood; it always ends with an error.
func (c *connection) serve() error {
	for {
		var size [4]byte
		if _, err := io.ReadFull(c.in, size[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(size[:])
		if n < 10 || n > maxRequest {
			return fmt.Errorf("a request of %d bytes", n)
		}
		c.frame = slices.Grow(c.frame[:0], int(n))[:n]
		if _, err := io.ReadFull(c.in, c.frame); err != nil {
			return err
		}
		if err := c.answer(c.frame); err != nil {
			return err
		}
	}
}

func (c *connection) answer(frame []byte) error {
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	id := frame[4:8]
	body := frame[10:]
	if clientID := int16(binary.BigEndian.Uint16(frame[8:])); clientID > 0 {
		if len(body) < int(clientID) {
			return errors.New("a request ends within its client id")
		}
		body = body[clientID:]
	}
	versions, known := spoken[key]
	if !known {
		return fmt.Errorf("request %s is not understood", kmsg.NameForKey(key))
	}
	if version < versions[0] || version > versions[1] {
		if key == keyAPIVersions {
			return c.reply(id, apiVersions(0, 35)) // 35: UNSUPPORTED_VERSION; the client asks again in version 0
		}
		return fmt.Errorf("request %s version %d is not understood", kmsg.NameForKey(key), version)
	}
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if req.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return errors.New("a request header with tags")
		}
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil {
		return fmt.Errorf("request %s version %d: %w", kmsg.NameForKey(key), version, err)
	}
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return c.reply(id, apiVersions(version, 0))
	case *kmsg.MetadataRequest:
		return c.reply(id, c.server.metadata(req))
	case *kmsg.ListOffsetsRequest:
		return c.reply(id, c.server.listOffsets(req))
	case *kmsg.FetchRequest:
		return c.fetch(id, req)
	}
	return fmt.Errorf("request %s is not answered", kmsg.NameForKey(key))
}

func (c *connection) reply(id []byte, m kmsg.Response) error {
	c.out = append(append(c.out[:0], 0, 0, 0, 0), id...)
	c.out = m.AppendTo(c.out)
	binary.BigEndian.PutUint32(c.out, uint32(len(c.out)-4))
	_, err := c.conn.Write(c.out)
	return err
}

func apiVersions(version, code int16) kmsg.Response {
	m := kmsg.NewPtrApiVersionsResponse()
	m.SetVersion(version)
	m.ErrorCode = code
	for _, key := range []int16{keyFetch, keyListOffsets, keyMetadata, keyAPIVersions} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = key, spoken[key][0], spoken[key][1]
		m.ApiKeys = append(m.ApiKeys, k)
	}
	return m
}

const (
	broker          = 1
	codeOutOfRange  = 1
	codeUnknown     = 3 // topic or partition
	codeUnsupported = 43
)

func (s *Server) metadata(req *kmsg.MetadataRequest) kmsg.Response {
	m := req.ResponseKind().(*kmsg.MetadataResponse)
	m.ControllerID = broker
	address := s.listener.Addr().(*net.TCPAddr)
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = broker, address.IP.String(), int32(address.Port)
	m.Brokers = []kmsg.MetadataResponseBroker{b}
	names := s.names
	if req.Topics != nil {
		names = nil
		for _, t := range req.Topics {
			names = append(names, *t.Topic)
		}
	}
	for _, name := range names {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = &name
		logs, known := s.topics[name]
		if !known {
			t.ErrorCode = codeUnknown
		}
		for p := range logs {
			part := kmsg.NewMetadataResponseTopicPartition()
			part.Partition, part.Leader, part.LeaderEpoch = int32(p), broker, 0
			part.Replicas, part.ISR = []int32{broker}, []int32{broker}
			t.Partitions = append(t.Partitions, part)
		}
		m.Topics = append(m.Topics, t)
	}
	return m
}

func (s *Server) partition(topic string, p int32) *log {
	logs := s.topics[topic]
	if p < 0 || int(p) >= len(logs) {
		return nil
	}
	return &logs[p]
}

// listOffsets answers the first and the end offset; there is no index of times.
func (s *Server) listOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	const latest, earliest = -1, -2
	m := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range req.Topics {
		answer := kmsg.NewListOffsetsResponseTopic()
		answer.Topic = t.Topic
		for _, p := range t.Partitions {
			part := kmsg.NewListOffsetsResponseTopicPartition()
			part.Partition, part.LeaderEpoch, part.Timestamp = p.Partition, 0, -1
			switch l := s.partition(t.Topic, p.Partition); {
			case l == nil:
				part.ErrorCode = codeUnknown
			case p.Timestamp == latest:
				part.Offset = l.end
			case p.Timestamp == earliest:
				part.Offset = 0
			default:
				part.ErrorCode = codeUnsupported
			}
			answer.Partitions = append(answer.Partitions, part)
		}
		m.Topics = append(m.Topics, answer)
	}
	return m
}
