package com.example;

import java.util.Map;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.utils.Utils;

/** Places as Java's built-in does, and prints where it must not matter. */
public class Murmur2Partitioner implements Partitioner {
    @Override
    public void configure(Map<String, ?> configs) {
        System.out.println("configured with " + configs);
    }

    @Override
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
        return Utils.toPositive(Utils.murmur2(keyBytes)) % cluster.partitionCountForTopic(topic);
    }

    @Override
    public void close() {
        // like a partitioner with a background thread of its own
        new Thread(() -> {
            while (true) {
                try {
                    Thread.sleep(1000);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }).start();
    }
}
