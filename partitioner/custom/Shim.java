import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * Answers keyspread's requests with a user's Partitioner. The protocol, and how the partitioner is treated, are described
 * in the Go package partitioner/custom. Runs as {@code java -cp CLASSPATH Shim.java CLASS}.
 *
 * <p>The class is not named Shim: the source launcher refuses a name that the classpath has too.
 */
final class KeyspreadPartitionerShim {
    private static final byte[] MAGIC = "KSPP".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final int SPREAD = -1;
    private static final int FAILED = -2;
    private static final int MAX_REASON = 1024;

    // How often a key is asked for at each count: SUSPICIOUS for the null key, and for all once any was seen to be spread.
    private static final int TRUSTING = 4;
    private static final int SUSPICIOUS = 64;

    private static final int MAX_CLUSTERS = 64; // kept, by partition count

    private final DataInputStream in;
    private final OutputStream out;
    private final ByteArrayOutputStream frameBytes = new ByteArrayOutputStream();
    private final DataOutputStream frame = new DataOutputStream(frameBytes);

    private String topic;
    private int brokers;
    private Map<String, String> config;
    private Partitioner partitioner;
    private Deserializer<?> deserializer;
    private boolean suspicious;
    private final Map<Integer, Cluster> clusters = new HashMap<>();

    private KeyspreadPartitionerShim(DataInputStream in, OutputStream out) {
        this.in = in;
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        var in = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16));
        var shim = new KeyspreadPartitionerShim(in, new FileOutputStream(FileDescriptor.out));
        // stdout is the protocol's; what the partitioner or a logger prints belongs on stderr
        System.setOut(System.err);

        shim.readHello();
        String trouble = shim.load(args[0]);
        if (trouble != null) {
            shim.begin('E');
            shim.writeText(trouble);
            shim.end();
            System.exit(1);
        }
        shim.begin('R');
        shim.frame.write(MAGIC);
        shim.frame.writeInt(VERSION);
        shim.end();
        while (shim.answerRequest()) {
        }
        shim.partitioner.close();
        // the partitioner may have left threads behind
        System.exit(0);
    }

    private void readHello() throws IOException {
        in.readInt();
        byte kind = in.readByte();
        byte[] magic = in.readNBytes(MAGIC.length);
        int version = in.readInt();
        if (kind != 'H' || !Arrays.equals(magic, MAGIC) || version != VERSION) {
            throw new IOException("this is no keyspread of protocol version " + VERSION);
        }
        topic = readText();
        in.readInt(); // partitions of today: each request says for how many it asks
        brokers = in.readInt();
        config = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            String name = readText();
            config.put(name, readText());
        }
    }

    /** Makes and configures what the user named. Returns what is wrong with it, or null. */
    private String load(String name) {
        try {
            partitioner = make(Partitioner.class, name);
            partitioner.configure(Collections.unmodifiableMap(new HashMap<String, Object>(config)));
            String key = config.get("key.deserializer");
            if (key != null) {
                deserializer = make(Deserializer.class, key);
                deserializer.configure(config, true);
            }
            return null;
        } catch (ClassNotFoundException e) {
            return "class " + e.getMessage() + " is not on the classpath";
        } catch (NoSuchMethodException e) {
            return e.getMessage() + ": there is no such constructor";
        } catch (java.lang.reflect.InvocationTargetException e) {
            e.printStackTrace();
            return "making " + name + ": " + e.getCause();
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            return "making " + name + ": " + e;
        }
    }

    private static <T> T make(Class<T> kind, String name) throws ReflectiveOperationException {
        Class<?> named = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
        if (!kind.isAssignableFrom(named)) {
            throw new IllegalArgumentException(name + " is no " + kind.getName());
        }
        var constructor = named.getDeclaredConstructor();
        constructor.setAccessible(true); // Kafka makes package-private classes too
        return kind.cast(constructor.newInstance());
    }

    /** Answers one request; false at the end of input. */
    private boolean answerRequest() throws IOException {
        try {
            in.readInt();
        } catch (EOFException e) {
            return false;
        }
        if (in.readByte() != 'Q') {
            throw new IOException("this is no request");
        }
        int id = in.readInt();
        var counts = new int[in.readInt()];
        for (int c = 0; c < counts.length; c++) {
            counts[c] = in.readInt();
        }
        var keys = new byte[in.readInt()][];
        for (int k = 0; k < keys.length; k++) {
            int length = in.readInt();
            keys[k] = length < 0 ? null : in.readNBytes(length);
        }

        begin('A');
        frame.writeInt(id);
        frame.writeInt(keys.length * counts.length);
        List<Integer> failed = new ArrayList<>();
        List<String> reasons = new ArrayList<>();
        for (int k = 0; k < keys.length; k++) {
            for (int c = 0; c < counts.length; c++) {
                int answer;
                try {
                    answer = place(keys[k], counts[c]);
                } catch (Exception | LinkageError e) {
                    answer = FAILED;
                    failed.add(k * counts.length + c);
                    reasons.add(reason(e));
                }
                frame.writeInt(answer);
            }
        }
        frame.writeInt(failed.size());
        for (int f = 0; f < failed.size(); f++) {
            frame.writeInt(failed.get(f));
            writeText(reasons.get(f));
        }
        end();
        return true;
    }

    /** What is outside [0, n) is thrown: the producer does not send such a record. */
    private static final class Outside extends RuntimeException {
        Outside(int answer, int n) {
            super("the partitioner answers " + answer + ", outside [0, " + n + ")", null, false, false);
        }
    }

    private int place(byte[] keyBytes, int n) {
        Cluster cluster = cluster(n);
        Object key = keyBytes;
        if (deserializer != null && keyBytes != null) {
            key = deserializer.deserialize(topic, keyBytes);
        }
        int first = ask(key, keyBytes, n, cluster);
        int times = keyBytes == null || suspicious ? SUSPICIOUS : TRUSTING;
        for (int i = 1; i < times; i++) {
            if (ask(key, keyBytes, n, cluster) != first) {
                // a null key that is spread says nothing about the others
                suspicious |= keyBytes != null;
                return SPREAD;
            }
        }
        return first;
    }

    private int ask(Object key, byte[] keyBytes, int n, Cluster cluster) {
        int answer = partitioner.partition(topic, key, keyBytes, null, null, cluster);
        if (answer < 0 || answer >= n) {
            throw new Outside(answer, n);
        }
        return answer;
    }

    private String reason(Throwable e) {
        if (e instanceof Outside) {
            return e.getMessage();
        }
        if (e instanceof ClassCastException && deserializer == null) {
            return e + " (the key object is byte[] unless the partitioner's configuration names a key.deserializer)";
        }
        return e.toString();
    }

    private Cluster cluster(int n) {
        Cluster kept = clusters.get(n);
        if (kept != null) {
            return kept;
        }
        if (clusters.size() == MAX_CLUSTERS) {
            clusters.clear();
        }
        var nodes = new Node[brokers];
        for (int i = 0; i < brokers; i++) {
            nodes[i] = new Node(i + 1, "broker-" + (i + 1) + ".keyspread.invalid", 9092);
        }
        List<PartitionInfo> partitions = new ArrayList<>(n);
        for (int p = 0; p < n; p++) {
            var replicas = new Node[Math.min(3, brokers)];
            for (int r = 0; r < replicas.length; r++) {
                replicas[r] = nodes[(p + r) % brokers];
            }
            partitions.add(new PartitionInfo(topic, p, replicas[0], replicas, replicas));
        }
        var made = new Cluster("keyspread", Arrays.asList(nodes), partitions,
                Collections.emptySet(), Collections.emptySet(), nodes[0]);
        clusters.put(n, made);
        return made;
    }

    private void begin(char kind) throws IOException {
        frameBytes.reset();
        frame.writeInt(0); // the length; end knows it
        frame.writeByte(kind);
    }

    private void end() throws IOException {
        byte[] bytes = frameBytes.toByteArray();
        int length = bytes.length - 4;
        for (int i = 0; i < 4; i++) {
            bytes[i] = (byte) (length >>> 24 - 8 * i);
        }
        out.write(bytes);
        out.flush();
    }

    private String readText() throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    private void writeText(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, MAX_REASON);
        frame.writeInt(length);
        frame.write(bytes, 0, length);
    }
}
