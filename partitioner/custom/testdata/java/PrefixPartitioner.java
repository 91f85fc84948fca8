package com.example;

import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;

/** Places String keys "NUMBER-…" by their number, and forgets that Java's remainder has a sign. */
public class PrefixPartitioner implements Partitioner {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
        int n = cluster.partitionsForTopic(topic).size();
        if (key == null) {
            return ThreadLocalRandom.current().nextInt(n);
        }
        String text = (String) key;
        int dash = text.lastIndexOf('-');
        if (dash < 0) {
            throw new IllegalArgumentException("no dash in " + text);
        }
        return Integer.parseInt(text.substring(0, dash)) % n;
    }

    @Override
    public void close() {}
}
