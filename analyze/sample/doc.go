// Package sample decides which offsets are read when a topic is too large to read whole, and what can be said of the
// topic from them.
//
// A sample is a set of blocks of consecutive offsets, drawn at random within each partition without replacement:
// stratified cluster sampling. Records of one key come in bursts, so the records of a block are not independent and
// the usual binomial interval is far too narrow; [Estimator] takes blocks, not records, as what was drawn.
package sample
