package custom

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keyspread/partitioner"
)

// The tests named TestIntegration… need a JDK and, in KEYSPREAD_TEST_KAFKA_CLASSPATH, kafka-clients 4 with slf4j-api:
//
//	KEYSPREAD_TEST_KAFKA_CLASSPATH=$(.ci/kafka classpath) go test -run '^TestIntegration' ./partitioner/custom
//
// Without it they skip; with KEYSPREAD_TEST_REQUIRE=1, as in CI, they fail instead.

// userClasses compiles testdata/java, and returns options under which those classes run.
func userClasses(tb testing.TB) Options {
	tb.Helper()
	kafka := os.Getenv("KEYSPREAD_TEST_KAFKA_CLASSPATH")
	if kafka == "" {
		lacking(tb, "no kafka-clients: set KEYSPREAD_TEST_KAFKA_CLASSPATH=$(.ci/kafka classpath)")
	}
	javac, err := exec.LookPath("javac")
	if err != nil {
		lacking(tb, "no javac on the PATH: install a JDK, 17 or later")
	}
	sources, err := filepath.Glob("testdata/java/*.java")
	if err != nil || len(sources) == 0 {
		tb.Fatalf("no Java sources: %v", err)
	}
	classes := tb.TempDir()
	args := append([]string{"-d", classes, "-cp", kafka}, sources...)
	if out, err := exec.Command(javac, args...).CombinedOutput(); err != nil {
		tb.Fatalf("compiling the user's partitioners: %v\n%s", err, out)
	}
	return Options{
		Topic:     "orders.v1",
		Classpath: classes + string(os.PathListSeparator) + kafka,
		TempDir:   tb.TempDir(),
		Timeout:   time.Minute,
	}
}

// testKeys are keys of many lengths, not all of them text, and the empty key.
func testKeys(n int) [][]byte {
	keys := [][]byte{{}, []byte("ключ"), {0xff, 0, 0x80}}
	for i := len(keys); i < n; i++ {
		keys = append(keys, fmt.Appendf(nil, "%.*s%d", i%40, "customer-of-the-very-long-name-of-forty-", i))
	}
	return keys
}

func TestIntegrationJVM(t *testing.T) {
	opt := userClasses(t)

	// A partitioner that calls Kafka's own murmur2 equals Java's built-in.
	t.Run("murmur2", func(t *testing.T) {
		p := open(t, "jvm:com.example.Murmur2Partitioner", opt)
		if left, err := os.ReadDir(opt.TempDir); err != nil || len(left) > 0 {
			t.Errorf("the temporary folder holds %v, %v, want nothing", left, err)
		}
		builtin := murmur2(t)
		keys := testKeys(1000)
		counts := []int32{1, 7, 12, 16, 1000}
		out, keyed := make([]int32, len(keys)*len(counts)), make([]bool, len(keys))
		if err := p.PlaceBatch(keys, counts, out, keyed); err != nil {
			t.Fatal(err)
		}
		want := make([]int32, len(counts))
		for k, key := range keys {
			if _, err := builtin.Place(key, counts, want); err != nil {
				t.Fatal(err)
			}
			if got := out[k*len(counts):][:len(counts)]; !keyed[k] || !slices.Equal(got, want) {
				t.Errorf("key %s at %d: got %v, keyed %t, want %v", quoteKey(key), counts, got, keyed[k], want)
			}
		}
		// the class throws a NullPointerException for the null key
		_, err := p.Place(nil, counts, want)
		if keyErr, ok := errors.AsType[*partitioner.KeyError](err); !ok || !strings.Contains(keyErr.Reason, "java.lang.NullPointerException") {
			t.Errorf("Place(null) = %v, want a KeyError with the exception", err)
		}
		pid := pidOf(p)
		if err := p.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if !gone(pid) {
			t.Errorf("process %d is still there after Close", pid)
		}
	})

	// What a partitioner sees of the cluster, topic, key and configuration; it throws what it saw.
	t.Run("faithful", func(t *testing.T) {
		opt := opt
		opt.Brokers = 2
		opt.Config = map[string]string{"acme.salt": "7", "acme.name": "ä"}
		p := open(t, "jvm:com.example.TellingPartitioner", opt)
		for _, test := range []struct {
			n    int32
			want string
		}{
			{3, "topic orders.v1, key [B same, value null null, nodes 2, partitions 3, available 3, count 3, " +
				"leaders 1 2 1, replicas 2, on node 1: 2, topics [orders.v1], config {acme.name=ä, acme.salt=7}"},
			{1, "topic orders.v1, key [B same, value null null, nodes 2, partitions 1, available 1, count 1, " +
				"leaders 1, replicas 2, on node 1: 1, topics [orders.v1], config {acme.name=ä, acme.salt=7}"},
		} {
			_, err := p.Place([]byte("k"), []int32{test.n}, make([]int32, 1))
			want := "java.lang.IllegalStateException: " + test.want
			if keyErr, ok := errors.AsType[*partitioner.KeyError](err); !ok || keyErr.Reason != want {
				t.Errorf("at %d partitions: %v\nwant %s", test.n, err, want)
			}
		}
	})

	// A partitioner of a producer of String keys needs its deserializer.
	t.Run("key.deserializer", func(t *testing.T) {
		p := open(t, "jvm:com.example.PrefixPartitioner", opt)
		_, err := p.Place([]byte("7-a"), []int32{12}, make([]int32, 1))
		if err == nil || !strings.Contains(err.Error(), "java.lang.ClassCastException") || !strings.Contains(err.Error(), "names a key.deserializer") {
			t.Errorf("without: %v", err)
		}
		opt := opt
		opt.Config = map[string]string{"key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer"}
		p = open(t, "jvm:com.example.PrefixPartitioner", opt)
		keys := [][]byte{[]byte("7-a"), []byte("15-b"), []byte("-3-c"), []byte("none"), nil}
		counts := []int32{12, 5}
		out, keyed := make([]int32, 10), make([]bool, 5)
		err = p.PlaceBatch(keys, counts, out, keyed)
		failed, ok := errors.AsType[*BatchError](err)
		if !ok {
			t.Fatalf("PlaceBatch = %v, want a BatchError", err)
		}
		// the class answers the number before the last dash mod n, with its sign, and spreads the null key
		if want := []int32{7, 2, 3, 0, -1, -1, -1, -1, -1, -1}; !slices.Equal(out, want) {
			t.Errorf("got %v, want %v", out, want)
		}
		if want := []bool{true, true, true, true, false}; !slices.Equal(keyed, want) {
			t.Errorf("keyed %v, want %v", keyed, want)
		}
		var got []string
		for _, f := range failed.Failures {
			keyErr, _ := errors.AsType[*partitioner.KeyError](f.Err)
			got = append(got, fmt.Sprintf("%d,%d: %s", f.Key, f.Count, keyErr.Reason))
		}
		want := []string{
			"2,0: the partitioner answers -3, outside [0, 12)",
			"2,1: the partitioner answers -3, outside [0, 5)",
			"3,0: java.lang.IllegalArgumentException: no dash in none",
			"3,1: java.lang.IllegalArgumentException: no dash in none",
		}
		if !slices.Equal(got, want) {
			t.Errorf("failures:\ngot  %q\nwant %q", got, want)
		}
	})

	// Kafka's own round robin ignores the key, which only asking again shows.
	t.Run("spread", func(t *testing.T) {
		p := open(t, "jvm:org.apache.kafka.clients.producer.RoundRobinPartitioner", opt)
		keys := testKeys(500)
		out, keyed := make([]int32, 2*len(keys)), make([]bool, len(keys))
		if err := p.PlaceBatch(keys, []int32{12, 24}, out, keyed); err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(keyed, true); i >= 0 {
			t.Errorf("key %s is keyed", quoteKey(keys[i]))
		}
	})

	for _, test := range []struct {
		name, class string
		opt         func(*Options)
		want        []string
	}{
		{"unknown class", "com.example.Missing", nil, []string{"it gave up: class com.example.Missing is not on the classpath", "--partitioner-classpath"}},
		{"other class", "java.lang.Object", nil, []string{"java.lang.Object is no org.apache.kafka.clients.producer.Partitioner"}},
		{"no constructor", "com.example.ArgumentPartitioner", nil, []string{"there is no such constructor"}},
		{"bad configuration", "com.example.PrefixPartitioner", func(o *Options) {
			o.Config = map[string]string{"key.deserializer": "com.example.Missing"}
		}, []string{"class com.example.Missing is not on the classpath"}},
		{"no kafka-clients", "com.example.Murmur2Partitioner", func(o *Options) {
			o.Classpath, _, _ = strings.Cut(o.Classpath, string(os.PathListSeparator))
		}, []string{"kafka-clients is not on its classpath", "the process ended with exit status 1", "holds the class, what it needs, kafka-clients"}},
		{"no java", "com.example.Murmur2Partitioner", func(o *Options) {
			o.JavaPath = "no-such-java"
		}, []string{`check that "no-such-java" is there`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opt := opt
			if test.opt != nil {
				test.opt(&opt)
			}
			p, err := Open(t.Context(), "jvm:"+test.class, opt)
			if err == nil {
				p.Close()
				t.Fatal("opened")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not hold %q:\n%v", want, err)
				}
			}
			if left, err := os.ReadDir(opt.TempDir); err != nil || len(left) > 0 {
				t.Errorf("the temporary folder holds %v, %v, want nothing", left, err)
			}
		})
	}
}
