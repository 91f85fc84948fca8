// Package placement compares where a topic's keys are with where every known partitioner would have put them, and so
// tells which partitioner wrote the topic, under which partition count, and what it cannot tell.
//
// A key's partition agrees with an unrelated partitioner by chance once in n. [Judge] therefore weighs hypotheses (a
// partitioner, a partition count, and the part of the key that is hashed) by likelihood ratio against chance, each with
// a prior, and says how sure it is: three keys that happen to fit prove nothing. Two partitioners that give the same
// partition to every key seen are reported together, never one of them.
//
// Evidence is counted in placements: a key in one partition. A key found in three partitions is three of them.
package placement
