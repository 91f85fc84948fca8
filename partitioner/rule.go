package partitioner

import (
	"bytes"
	"errors"
)

// Rule is what one client does, configured with one value, in one span of its versions.
type Rule struct {
	ID      string // as [Parse] takes it: CLIENT[@VERSION][:VALUE]
	Client  string // "" for a bare class
	Value   string // the configured partitioner as keyspread names it; "" where the client has one and no name for it
	From    string // first version with this rule; "" when it reaches back to the first one read
	To      string // last version with this rule, "1" meaning every 1.x; "" when it holds in the newest one read
	Default bool   // what the client does when nothing is configured

	Class string  // id of the [Class] for keys that are hashed, "none" when keys do not decide
	Null  KeyRule // the null key
	Empty KeyRule // the empty key

	Over     string // which partitions n counts
	Notes    string // quirks that change a placement, or make it unpredictable
	Evidence Evidence
	Source   string // upstream repository@revision and file
	Aliases  []string
}

// Keyed reports whether the rule places any key by its bytes.
func (r Rule) Keyed() bool { return r.Class != ClassNone }

// ClassNone is the Class of a rule that spreads every record, whatever its key.
const ClassNone = "none"

// Evidence says how a rule was established.
type Evidence string

const (
	Run       Evidence = "run"       // the client itself was run; its answers are in testdata/vectors
	Extracted Evidence = "extracted" // the project's own hash code was taken out and run
	Read      Evidence = "read"      // its source was read
	Issue     Evidence = "issue"     // only an issue or documentation was read
)

// KeyKind is what a client does with the null key or the empty key.
type KeyKind int

const (
	// Unstated: what the client does is not established. Place answers a [KeyError].
	Unstated KeyKind = iota
	// Hashed like any other key; the null key as if it were empty.
	Hashed
	// Spread over partitions, not by the key: Place answers keyed false.
	Spread
	// Zero: partition 0.
	Zero
	// Refused by the client: Place answers a [KeyError].
	Refused
)

// KeyRule is a KeyKind, and how a spread key is spread or why a refused one is refused.
type KeyRule struct {
	Kind KeyKind
	How  string
}

func (r KeyRule) String() string {
	switch r.Kind {
	case Hashed:
		return "hashed"
	case Spread:
		return r.How
	case Zero:
		return "partition 0"
	case Refused:
		return "refused: " + r.How
	}
	return "not known"
}

// rulePartitioner is a rule bound to the function of its class.
type rulePartitioner struct {
	rule  Rule
	place placeFunc

	nullError, emptyError, textError *KeyError
}

func newRulePartitioner(r Rule, place placeFunc) *rulePartitioner {
	keyError := func(what string, k KeyRule) *KeyError {
		switch k.Kind {
		case Refused:
			return &KeyError{r.ID, what + ": " + k.How}
		case Unstated:
			return &KeyError{r.ID, what + ": not known what the client does with it"}
		}
		return nil
	}
	return &rulePartitioner{
		rule:       r,
		place:      place,
		nullError:  keyError("null key", r.Null),
		emptyError: keyError("empty key", r.Empty),
		textError:  &KeyError{r.ID, "not valid UTF-8, and the client hashes the key as text"},
	}
}

func (p *rulePartitioner) ID() string { return p.rule.ID }

// Place implements [Partitioner]. It allocates only for an [OutsideError].
func (p *rulePartitioner) Place(key []byte, counts, out []int32) (keyed bool, err error) {
	if len(counts) != len(out) {
		panic("partitioner: counts and out differ in length")
	}
	for _, n := range counts {
		if n <= 0 {
			panic("partitioner: partition count is not positive")
		}
	}
	if len(key) == 0 {
		kind, keyErr := p.rule.Empty.Kind, p.emptyError
		if key == nil {
			kind, keyErr = p.rule.Null.Kind, p.nullError
		}
		switch kind {
		case Spread:
			return false, nil
		case Zero:
			clear(out)
			return true, nil
		case Unstated, Refused:
			return true, unanswered(out, keyErr)
		}
	}
	if p.place == nil {
		return false, nil
	}
	if err := p.place(key, counts, out); err != nil {
		return true, p.explain(err, key, out)
	}
	return true, nil
}

// explain completes an error of a class, which knows neither the rule nor the caller's key.
func (p *rulePartitioner) explain(err error, key []byte, out []int32) error {
	if errors.Is(err, errNotText) {
		return unanswered(out, p.textError)
	}
	if outside, ok := errors.AsType[*OutsideError](err); ok {
		outside.Partitioner = p.rule.ID
		outside.Key = bytes.Clone(key)
	}
	return err
}

func unanswered(out []int32, err *KeyError) error {
	for i := range out {
		out[i] = -1
	}
	return err
}

// classRule is the rule of a class named by its own id: nothing is known of a client.
func classRule(c Class) Rule {
	return Rule{
		ID: c.ID, Class: c.ID, Null: spread("unkeyed"), Empty: hashed,
		Over: overAll, Notes: c.Description, Aliases: c.Aliases,
	}
}

var (
	hashed     = KeyRule{Kind: Hashed}
	zero       = KeyRule{Kind: Zero}
	unstated   = KeyRule{Kind: Unstated}
	random     = spread("random")
	roundRobin = spread("round robin")
	sticky     = spread("sticky")
)

func spread(how string) KeyRule  { return KeyRule{Spread, how} }
func refused(why string) KeyRule { return KeyRule{Refused, why} }

const (
	overAll   = "all partitions"
	overSplit = "keyed: all partitions; unkeyed: those with a leader"
	overAvail = "partitions with a leader"
)
