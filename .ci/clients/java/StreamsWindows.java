import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts keys in windows of a minute with Kafka Streams, whose sink writes the windowed keys. Every key of the file, of
 * which none may be null, is there in two windows. So the topic's keys are not the file's, and values are counts.
 * PARTITIONER: time, session.
 */
public final class StreamsWindows {
    private static final Duration WINDOW = Duration.ofMinutes(1);
    private static final Duration KEPT = Duration.ofHours(1);
    private static final long START = 1_700_000_040_000L;

    private StreamsWindows() {}

    public static void main(String[] args) throws Exception {
        List<byte[]> keys = Keys.read(args[2]);
        String input = args[1] + "-input";
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        try (Admin admin = Admin.create(config)) {
            admin.createTopics(List.of(new NewTopic(input, Optional.of(1), Optional.empty()))).all().get();
            try {
                write(config, input, keys);
                count(config, input, args[1], args[3], 2 * keys.size());
            } finally {
                admin.deleteTopics(List.of(input)).all().get();
            }
        }
    }

    private static void write(Properties config, String topic, List<byte[]> keys) throws Exception {
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<?>> sent = new ArrayList<>();
            for (int window = 0; window < 2; window++) {
                long time = START + window * WINDOW.multipliedBy(2).toMillis();
                for (byte[] key : keys) {
                    sent.add(producer.send(new ProducerRecord<>(topic, null, time, key, "1".getBytes(StandardCharsets.UTF_8))));
                }
            }
            for (Future<?> f : sent) {
                f.get();
            }
        }
    }

    private static void count(Properties common, String input, String output, String windows, int records) throws Exception {
        Properties config = new Properties();
        config.putAll(common);
        config.put("application.id", output);
        config.put("state.dir", Files.createTempDirectory("streams").toString());
        config.put("auto.offset.reset", "earliest");
        CountDownLatch left = new CountDownLatch(records);
        StreamsBuilder builder = new StreamsBuilder();
        Serde<byte[]> bytes = Serdes.ByteArray();
        KGroupedStream<byte[], byte[]> grouped = builder.stream(input, Consumed.with(bytes, bytes)).groupByKey();
        switch (windows) {
            case "time" -> send(
                grouped.windowedBy(TimeWindows.ofSizeWithNoGrace(WINDOW)).count(
                    Materialized.<byte[], Long>as(Stores.inMemoryWindowStore("counts", KEPT, WINDOW, false))
                        .withKeySerde(bytes).withLoggingDisabled().withCachingDisabled()),
                output, new WindowedSerdes.TimeWindowedSerde<>(bytes, WINDOW.toMillis()), left);
            case "session" -> send(
                grouped.windowedBy(SessionWindows.ofInactivityGapWithNoGrace(WINDOW)).count(
                    Materialized.<byte[], Long>as(Stores.inMemorySessionStore("counts", KEPT))
                        .withKeySerde(bytes).withLoggingDisabled().withCachingDisabled()),
                output, new WindowedSerdes.SessionWindowedSerde<>(bytes), left);
            default -> throw new IllegalArgumentException("unknown partitioner " + windows);
        }
        try (KafkaStreams streams = new KafkaStreams(builder.build(), config)) {
            streams.start();
            if (!left.await(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException(left.getCount() + " of " + records + " counts are missing after a minute");
            }
        }
    }

    private static void send(KTable<Windowed<byte[]>, Long> counts, String topic, Serde<Windowed<byte[]>> keys, CountDownLatch left) {
        counts.toStream().peek((key, count) -> left.countDown()).to(topic, Produced.with(keys, Serdes.Long()));
    }
}
