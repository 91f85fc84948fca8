// Package synthetic makes keyed record streams whose shares are known beforehand, to try the tool on and to test it with.
//
// A [Config] says how many records there are, how the keys are spread (Zipf of any exponent >= 0, named hot keys, null and
// empty keys), how large the values are and how the rate changes over time. [New] makes a [Stream] of it that yields the
// records in time order. The same Config gives the same records on every machine of one architecture.
//
// The shares of hot keys, null keys and empty keys are not chances but counts: of n records exactly round(share * n)
// carry the key, in random places of the stream.
package synthetic
