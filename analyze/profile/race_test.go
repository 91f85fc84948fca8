//go:build race

package profile

// The race detector makes counting ten times slower and needs one stream of each kind, not all.
func init() { everyNth = 4 }
