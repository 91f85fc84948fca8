package reports

// KeyText shows a key as reports do, in at most width display columns: printable, shortened in the middle when long, hex
// when it is not text, and never as another key or the null key is shown.
func KeyText(key []byte, width int) string { return keyWriter{width: max(16, width)}.key(key).Text }
