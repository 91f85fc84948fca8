package com.example;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;

/** Throws what it is told. Not public, and made by a constructor that is not public either. */
class TellingPartitioner implements Partitioner {
    private Map<String, Object> config;

    TellingPartitioner() {}

    @Override
    public void configure(Map<String, ?> configs) {
        config = new TreeMap<>(configs);
    }

    @Override
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
        List<PartitionInfo> partitions = cluster.partitionsForTopic(topic);
        throw new IllegalStateException("topic " + topic
                + ", key " + key.getClass().getName() + (key == keyBytes ? " same" : " other")
                + ", value " + value + " " + valueBytes
                + ", nodes " + cluster.nodes().size()
                + ", partitions " + partitions.size()
                + ", available " + cluster.availablePartitionsForTopic(topic).size()
                + ", count " + cluster.partitionCountForTopic(topic)
                + ", leaders " + partitions.stream().map(p -> p.leader().idString()).collect(Collectors.joining(" "))
                + ", replicas " + partitions.get(0).inSyncReplicas().length
                + ", on node 1: " + cluster.partitionsForNode(1).size()
                + ", topics " + cluster.topics()
                + ", config " + config);
    }

    @Override
    public void close() {}
}
