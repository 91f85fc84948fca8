// Package reports tells a result: to people as text or Markdown, to programs as JSON.
//
// [New] turns an [analyze.Result] into a [Report], the versioned form that every format is written from and that
// [Parse] reads back; [Schema] describes it. What a report holds is decided there and only there: the order of
// everything, how keys are shown, whether they are redacted, how figures are rounded. [Write] then lays a report out.
//
// The same result gives the same bytes in every format, on every machine and for every order in which it was put
// together. Nothing that came from a topic is trusted: keys, topic names and error texts reach a terminal or a pull
// request only with control characters, invisible characters and markup made harmless.
package reports
