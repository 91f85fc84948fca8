import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes keys with Apache Kafka's own producer. PARTITIONER: default (none configured), or a partitioner.class. */
public final class Producer {
    private Producer() {}

    public static void main(String[] args) throws Exception {
        List<byte[]> keys = Keys.read(args[2]);
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        if (!args[3].equals("default")) {
            config.put("partitioner.class", args[3]);
        }
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<?>> sent = new ArrayList<>();
            for (int i = 0; i < keys.size(); i++) {
                byte[] value = Integer.toString(i).getBytes(StandardCharsets.UTF_8);
                sent.add(producer.send(new ProducerRecord<>(args[1], keys.get(i), value)));
            }
            for (Future<?> f : sent) {
                f.get();
            }
        }
    }
}
