import java.util.Map;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.utils.Utils;

/**
 * A partitioner such as users write: keys of one shop stay together, the largest shop has the last partition to itself,
 * records without a key go to the first. It looks at all it is given: the topic, the cluster, the key's bytes.
 */
public final class ShopPartitioner implements Partitioner {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
        int n = cluster.partitionsForTopic(topic).size();
        if (keyBytes == null) {
            return 0;
        }
        String text = new String(keyBytes, java.nio.charset.StandardCharsets.ISO_8859_1);
        if (text.startsWith("customer-1")) {
            return n - 1;
        }
        int shop = text.indexOf('-') < 0 ? Utils.murmur2(keyBytes) : text.substring(0, text.indexOf('-')).hashCode();
        return Utils.toPositive(shop + 31 * keyBytes.length + topic.length()) % (n - 1);
    }

    @Override
    public void close() {}
}
