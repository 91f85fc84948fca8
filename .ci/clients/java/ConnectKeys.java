import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Writes keys as a Debezium connector does: a key of the file, which is a row's id in decimal, becomes a struct of one
 * field, which Kafka Connect's JsonConverter writes. So the topic's keys are not the file's.
 * PARTITIONER: the name of the schema that is written with the key, as it is by default, such as shop.public.orders.Key;
 * schemaless.
 */
public final class ConnectKeys {
    private ConnectKeys() {}

    public static void main(String[] args) throws Exception {
        boolean enable = !args[3].equals("schemaless");
        Schema schema = SchemaBuilder.struct().name(args[3]).field("id", Schema.INT64_SCHEMA).build();
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        try (var converter = new JsonConverter();
                var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            converter.configure(Map.of("schemas.enable", enable), true);
            List<Future<?>> sent = new ArrayList<>();
            for (byte[] id : Keys.read(args[2])) {
                long row = Long.parseLong(new String(id, StandardCharsets.UTF_8));
                byte[] key = converter.fromConnectData(args[1], schema, new Struct(schema).put("id", row));
                sent.add(producer.send(new ProducerRecord<>(args[1], key, id)));
            }
            for (Future<?> f : sent) {
                f.get();
            }
        }
    }
}
