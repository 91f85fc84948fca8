package partitioner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Client is a producer, a binding or a tool, with the rules it can be configured to.
type Client struct {
	Name    string // as [Parse] takes it
	Title   string
	Aliases []string
	Source  string // upstream repository@revision and file, of every rule without its own
	Like    string // the client whose other values this one takes as well, such as "librdkafka"; "" if none
	Rules   []Rule // by value; of one value, older versions first
}

var (
	clients = finish(slices.Concat(jvmClients, librdkafkaClients, goClients, otherClients))
	rules   = allRules()

	noneRule = Rule{
		ID: ClassNone, Class: ClassNone, Null: spread("unkeyed"), Empty: spread("unkeyed"), Over: overAvail,
		Notes:   "keys ignored: round robin, random or sticky",
		Aliases: []string{"random", "rr", "round_robin", "sticky", "ignore-keys", "fluentd-rr", "flink-fixed", "unkeyed"},
	}
)

// finish fills in what a table leaves out because the client or the rule's place says it.
func finish(clients []Client) []Client {
	for _, c := range clients {
		for i := range c.Rules {
			r := &c.Rules[i]
			r.Client = c.Name
			r.ID = ruleID(*r)
			r.Source = cmp.Or(r.Source, c.Source)
			r.Over = cmp.Or(r.Over, overAll)
		}
	}
	return clients
}

func ruleID(r Rule) string {
	id := r.Client
	if r.To != "" {
		id += "@" + r.To
	}
	if r.Value != "" {
		id += ":" + r.Value
	}
	return id
}

func allRules() []Rule {
	var all []Rule
	for _, c := range clients {
		all = append(all, c.Rules...)
	}
	return all
}

// Clients returns every client known, JVM first, in a fixed order. The slices inside are shared: do not change them.
func Clients() []Client { return slices.Clone(clients) }

// Names returns every name that [Parse] takes without a version of one's own: rule ids, class ids and aliases, sorted.
func Names() []string {
	names := append([]string{noneRule.ID}, noneRule.Aliases...)
	for _, c := range classes {
		names = append(append(names, c.ID), c.Aliases...)
	}
	for _, c := range clients {
		names = append(append(names, c.Name), c.Aliases...)
		for _, r := range c.Rules {
			names = append(names, r.ID)
			for _, a := range r.Aliases {
				if value, ok := strings.CutPrefix(a, ":"); ok {
					a = c.Name + ":" + value
				}
				names = append(names, a)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Parse returns the partitioner called name:
//
//	CLIENT                   what the newest version does when nothing is configured: "java", "librdkafka"
//	CLIENT:VALUE             with the partitioner set to VALUE: "librdkafka:murmur2_random"
//	CLIENT@VERSION[:VALUE]   in that version, or in all of "0.11" or "1" if they place alike: "kafka-go@0.3.0:hash"
//	CLASS                    a class by its id, the null key unkeyed: "murmur2", "java_string:abs_min0"
//	none                     every record unkeyed
//
// Case, "-" and "_" do not matter, and there are aliases ([Names] lists all). The error of an unknown name names the nearest
// known ones; that of a version that spans a change names the rules on both sides.
func Parse(name string) (Partitioner, error) {
	r, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if c, ok := findClass(r.Class); ok {
		return newRulePartitioner(r, c.place), nil
	}
	return newRulePartitioner(r, nil), nil
}

// Lookup returns the rule that [Parse] would make a partitioner of.
func Lookup(name string) (Rule, error) {
	want := fold(name)
	if r, ok := exact(want); ok {
		return r, nil
	}
	client, version, value, err := split(name)
	if err != nil {
		return Rule{}, err
	}
	c, ok := findClient(client)
	if !ok {
		return Rule{}, fmt.Errorf("unknown partitioner %q%s", name, suggest(want, Names()))
	}
	found := withVersion(withValue(c, value), version)
	if len(found) == 0 && c.Like != "" && value != "" {
		// A binding's versions are not its library's, so they say nothing about the value's.
		like, _ := findClient(c.Like)
		found = withVersion(withValue(like, value), "")
	}
	switch {
	case len(found) == 0 && version != "" && len(withValue(c, value)) > 0:
		return Rule{}, fmt.Errorf("unknown partitioner %q: %s", name, spans(withValue(c, value)))
	case len(found) == 0:
		return Rule{}, fmt.Errorf("unknown partitioner %q: %s is known%s", name, c.Name, valueList(c))
	case !placeAlike(found):
		return Rule{}, fmt.Errorf("partitioner %q changed within version %s: %s", name, version, spans(found))
	}
	return found[len(found)-1], nil
}

// exact looks among classes and aliases of whole names, which may hold the signs that split a client's name.
func exact(want string) (Rule, bool) {
	named := func(id string, aliases []string) bool {
		return fold(id) == want || slices.ContainsFunc(aliases, func(a string) bool { return fold(a) == want })
	}
	if named(noneRule.ID, noneRule.Aliases) {
		return noneRule, true
	}
	for _, c := range classes {
		if named(c.ID, c.Aliases) {
			return classRule(c), true
		}
	}
	for _, r := range rules {
		if named(r.ID, r.Aliases) && r.To == "" {
			return r, true
		}
		if r.To != "" && slices.ContainsFunc(r.Aliases, func(a string) bool { return fold(a) == want }) {
			return r, true
		}
	}
	return Rule{}, false
}

// split takes CLIENT[@VERSION][:VALUE] apart. A leading "@" belongs to an npm scope.
func split(name string) (client, version, value string, err error) {
	client, value, _ = strings.Cut(name, ":")
	at := strings.LastIndex(client, "@")
	if at <= 0 {
		return client, "", value, nil
	}
	client, version = client[:at], strings.TrimPrefix(client[at+1:], "v")
	version = strings.TrimSuffix(version, ".x")
	for number := range strings.SplitSeq(version, ".") {
		if _, err := strconv.ParseUint(number, 10, 32); err != nil {
			return "", "", "", fmt.Errorf("partitioner %q: version %q is not numbers with dots, such as 2.11.1", name, version)
		}
	}
	return client, version, value, nil
}

func findClient(name string) (Client, bool) {
	want := fold(name)
	for _, c := range clients {
		if fold(c.Name) == want || slices.ContainsFunc(c.Aliases, func(a string) bool { return fold(a) == want }) {
			return c, true
		}
	}
	return Client{}, false
}

// withValue returns the rules of c configured to value; "" and "default" mean nothing configured.
func withValue(c Client, value string) []Rule {
	want := fold(value)
	var found []Rule
	for _, r := range c.Rules {
		switch {
		case want == "" || want == "default":
			if r.Default {
				found = append(found, r)
			}
		case fold(r.Value) == want, slices.ContainsFunc(r.Aliases, func(a string) bool { return strings.HasPrefix(a, ":") && fold(a[1:]) == want }):
			found = append(found, r)
		}
	}
	return found
}

// withVersion returns the rules that hold in some version that starts with version; without one, in the newest.
func withVersion(rules []Rule, version string) []Rule {
	if version == "" {
		if len(rules) == 0 {
			return nil
		}
		return rules[len(rules)-1:]
	}
	var found []Rule
	for _, r := range rules {
		tooOld := r.From != "" && compareVersions(version, r.From) < 0
		tooNew := r.To != "" && compareVersions(version, r.To) > 0
		if !tooOld && !tooNew {
			found = append(found, r)
		}
	}
	return found
}

// compareVersions compares the numbers that both versions have, so that "1" equals every 1.x.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.ParseUint(as[i], 10, 32) // split and the tests of the tables have seen that these are numbers
		y, _ := strconv.ParseUint(bs[i], 10, 32)
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// placeAlike reports whether rules give every key the same answer, however they spread unkeyed records.
func placeAlike(rules []Rule) bool {
	for _, r := range rules[1:] {
		if r.Class != rules[0].Class || r.Null.Kind != rules[0].Null.Kind || r.Empty.Kind != rules[0].Empty.Kind {
			return false
		}
	}
	return true
}

// spans tells which versions have a rule, as "kafka-go@0.3.0:hash from 0.1.0 to 0.3.0, kafka-go:hash from 0.3.1".
func spans(rules []Rule) string {
	var parts []string
	for _, r := range rules {
		part := r.ID + " is " + r.Class
		if r.From != "" {
			part += " from " + r.From
		}
		if r.To != "" {
			part += " to " + r.To
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func valueList(c Client) string {
	var values []string
	for _, r := range c.Rules {
		if r.Value != "" && !slices.Contains(values, r.Value) {
			values = append(values, r.Value)
		}
	}
	text := " without a value"
	if len(values) > 0 {
		text = " with " + strings.Join(values, ", ")
	}
	if c.Like != "" {
		text += ", and with the values of " + c.Like
	}
	return text
}

var separators = strings.NewReplacer("-", "", "_", "", " ", "")

// fold removes what people spell in more than one way.
func fold(name string) string { return separators.Replace(strings.ToLower(name)) }

// suggest names up to three known names within a third of the wanted one's length in edits.
func suggest(want string, names []string) string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, name := range names {
		d := editDistance(want, fold(name))
		if d <= max(1, len(want)/3) {
			found = append(found, near{name, d})
		}
	}
	if len(found) == 0 {
		return `: "keyspread partitioners" lists the known ones`
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var quoted []string
	for _, f := range found[:min(3, len(found))] {
		quoted = append(quoted, strconv.Quote(f.name))
	}
	return ": did you mean " + strings.Join(quoted, ", ") + "?"
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
