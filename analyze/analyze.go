package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"keyspread/analyze/finding"
	"keyspread/analyze/placement"
	"keyspread/analyze/placement/keyform"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// Config says what a run is to conclude.
type Config struct {
	// Partitioner is assumed for the topic. With Auto, the one that the topic's keys show is taken in its place, and
	// this one only where they do not tell.
	Partitioner partitioner.Partitioner
	Auto        bool
	Further     []partitioner.Partitioner // the user's own, compared with the placement beside the known ones
	Plans       []plan.To                 // simulated and reported, in this order
	Candidates  []plan.To                 // kept exact beside them, for later questions to the profile
	Multiples   bool                      // so are 2, 3 and 4 times the topic's count, as far as they take little room
	Skew        skew.Config
	Sample      *sample.Config // nil: read everything
	SampleOver  int64          // sample only ranges of more bytes on disk; 0: always
	Shard       Shard          // read a part of the partitions only; the zero Shard is all of them
	Refine      bool           // read a second time to make the keys listed exact, when the first read gave bounds
	Profile     profile.Config // its Partitioner and Candidates are set by Run
	KeyFormat   keyform.Format // how keys are to be shown; "" is keyform.Auto
}

// DefaultConfig returns the defaults of the command line for an assumed partitioner.
func DefaultConfig(pt partitioner.Partitioner) Config {
	return Config{Partitioner: pt, Skew: skew.DefaultConfig(), Profile: profile.DefaultConfig()}
}

// Validate reports the first value out of range.
func (c Config) Validate() error {
	if c.Partitioner == nil {
		return errors.New("analyzing without a partitioner: name the one the producers use")
	}
	for _, list := range [][]plan.To{c.Plans, c.Candidates} {
		for _, to := range list {
			if err := to.Validate(); err != nil {
				return err
			}
		}
	}
	if c.Sample != nil {
		if err := c.Sample.Validate(); err != nil {
			return err
		}
	}
	if err := c.Shard.Validate(); err != nil {
		return err
	}
	return c.Skew.Validate()
}

// Result is everything concluded from one profile. Reports start from it.
type Result struct {
	Profile   *profile.Profile     // under the partitioner that the conclusions are drawn with
	Counted   *profile.Profile     // as it was read, for saving; nil for a sample
	Placement *placement.Placement // who wrote the topic
	Reason    string               // why that partitioner was used, to be read after its name; "" when it was given
	Notes     []string             // what the source could not find out, each a sentence

	Partial  bool   // the run was stopped before its end
	Why      string // why it is partial
	Complete bool   // every offset asked for was read

	Sample   *sample.Estimates // nil: everything was read
	Distinct profile.Distinct
	Records  skew.Skew
	Bytes    skew.Skew
	Peaks    *skew.Peaks // of partitions and hot keys; nil for a sample, and without times that differ
	Plans    []plan.Plan // in the order asked for; empty unless a plan was asked for
	Findings []finding.Finding

	hotRatio float64 // r* that the findings were drawn with
	bursts   []burst // keys that are hot for a while only
}

// Run plans what to read, reads it, and concludes.
//
// When the read is cut short (the context ends, or the source fails as a whole), the result of what was read comes
// together with the error, and says that it is partial; a nil result means that nothing was learnt. Trouble with
// single partitions is no error of Run: it is in the profile's coverage and in the findings. Plans of some of the topic's
// partitions are refused before reading, with a [*PartError].
func Run(ctx context.Context, src source.Source, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	reading, err := src.Plan(ctx)
	if err != nil {
		return nil, err
	}
	pcfg := cfg.Profile
	pcfg.Partitioner = cfg.Partitioner
	pcfg.Candidates = candidates(cfg, int32(reading.NumPartitions))
	builder, err := profile.NewBuilder(reading, pcfg)
	if err != nil {
		return nil, fmt.Errorf("profiling topic %q: %w", reading.Topic, err)
	}
	reading = cfg.Shard.of(reading) // after the builder: memory is shared out over all partitions, whoever reads them
	if err := cfg.needsAll(len(reading.Partitions), reading.NumPartitions); err != nil {
		return nil, err
	}
	coverage, estimates, readErr := read(ctx, src, reading, cfg, pcfg.Candidates, builder)
	p, err := builder.Profile(coverage)
	if err != nil {
		return nil, errors.Join(readErr, err)
	}
	var placed *placement.Placement
	if estimates != nil && cfg.Auto && readErr == nil {
		// Blocks are estimated under one partitioner. When the keys show another, the same blocks are read again.
		placed = placement.Judge(p, cfg.placement(p, estimates))
		_, pt, reason, err := reassume(p, cfg.Partitioner, placed)
		if err != nil {
			return nil, err
		}
		if pt.ID() != cfg.Partitioner.ID() {
			again := cfg
			again.Partitioner, again.Auto = pt, false
			res, err := Run(ctx, src, again)
			if res != nil {
				res.Reason = reason
			}
			return res, err
		}
	}
	p.Partitions = slices.DeleteFunc(p.Partitions, func(part profile.Partition) bool { return !cfg.Shard.Has(part.ID) })
	if cfg.Refine && readErr == nil && p.Mode() == profile.Bounded {
		readErr = refine(ctx, src, reading, p, cfg)
	}
	res, err := conclude(p, cfg, estimates, placed)
	if err != nil {
		return nil, errors.Join(readErr, err)
	}
	res.Notes = reading.Notes
	if readErr != nil {
		res.stop(readErr)
	}
	return res, readErr
}

// Shard is part I of N of a topic's partitions, for several machines to share a read and merge their profiles.
type Shard struct{ I, N int32 }

// Validate reports a part that does not exist.
func (s Shard) Validate() error {
	if s != (Shard{}) && (s.N < 1 || s.I < 1 || s.I > s.N) {
		return fmt.Errorf("shard %d/%d: want a part between 1/%d and %d/%d", s.I, s.N, max(1, s.N), max(1, s.N), max(1, s.N))
	}
	return nil
}

// Has reports whether the partition belongs to the part: partitions are dealt out in turn.
func (s Shard) Has(partition int32) bool { return s.N == 0 || partition%s.N == s.I-1 }

// of returns the plan with the part's partitions only.
func (s Shard) of(p *source.Plan) *source.Plan {
	if s.N == 0 {
		return p
	}
	q := *p
	q.Partitions, q.Spans = nil, nil
	for _, part := range p.Partitions {
		if s.Has(part.ID) {
			q.Partitions = append(q.Partitions, part)
		}
	}
	for _, span := range p.Spans {
		if s.Has(span.Partition) {
			q.Spans = append(q.Spans, span)
		}
	}
	return &q
}

// refinedKeys is how many of the heaviest keys a second read counts exactly.
const refinedKeys = 1000

// refine reads the bounded partitions again and counts the keys that a report can list exactly. Its error never
// spoils what the first read has learnt.
func refine(ctx context.Context, src source.Source, reading *source.Plan, p *profile.Profile, cfg Config) error {
	var keys [][]byte
	for _, unit := range []profile.Unit{profile.Records, profile.Bytes} {
		for _, t := range p.Top(max(refinedKeys, cfg.Skew.Top), unit) {
			keys = append(keys, t.Key)
		}
	}
	refiner, err := profile.NewRefiner(p, keys)
	if err != nil {
		return err
	}
	bounded := refiner.Partitions()
	again := *reading
	again.Spans = slices.DeleteFunc(slices.Clone(reading.Spans), func(s source.Span) bool { return !slices.Contains(bounded, s.Partition) })
	again.Partitions = slices.DeleteFunc(slices.Clone(reading.Partitions), func(s source.Partition) bool { return !slices.Contains(bounded, s.ID) })
	if _, err := src.Read(ctx, &again, refiner); err != nil {
		return fmt.Errorf("reading again for exact counts: %w", err)
	}
	if err := refiner.Apply(); err != nil {
		return fmt.Errorf("counting listed keys exactly: %w", err)
	}
	return nil
}

// read reads the plan whole or samples it. Estimates are nil when everything was read.
func read(ctx context.Context, src source.Source, reading *source.Plan, cfg Config, candidates []profile.CandidateSpec, sink source.Sink) ([]source.Coverage, *sample.Estimates, error) {
	if cfg.Sample == nil || reading.DiskBytes() < cfg.SampleOver {
		coverage, err := src.Read(ctx, reading, sink)
		return coverage, nil, err
	}
	n := int32(reading.NumPartitions)
	all := append([]profile.CandidateSpec{{Partitioner: cfg.Partitioner, NumPartitions: n}}, candidates...)
	estimates, coverage, err := sample.Read(ctx, src, reading, *cfg.Sample, all, skew.Tau(cfg.Skew.HotRatio, n), sink)
	return coverage, estimates, err
}

// stop marks a result as that of a run that did not reach its end.
func (r *Result) stop(err error) {
	r.Partial, r.Complete = true, false
	r.Why = err.Error()
	if errors.Is(err, context.Canceled) {
		r.Why = "interrupted"
	}
	r.Findings = findings(r)
}

// candidates resolves the placements to compute while reading: plans first, then the others, each once.
func candidates(cfg Config, n int32) []profile.CandidateSpec {
	var specs []profile.CandidateSpec
	seen := map[profile.Candidate]bool{{Partitioner: cfg.Partitioner.ID(), NumPartitions: n}: true}
	add := func(tos ...plan.To) {
		for _, to := range tos {
			spec := resolve(to, cfg.Partitioner, n)
			id := profile.Candidate{Partitioner: spec.Partitioner.ID(), NumPartitions: spec.NumPartitions}
			if !seen[id] {
				seen[id] = true
				specs = append(specs, spec)
			}
		}
	}
	add(cfg.Plans...)
	add(cfg.Candidates...)
	loads := int64(0)
	unasked := func(most int64, tos ...plan.To) bool {
		more := loads
		for _, to := range tos {
			more += int64(n) * int64(cmp.Or(to.NumPartitions, n))
		}
		if more > most {
			return false
		}
		loads = more
		add(tos...)
		return true
	}
	// the partitioner that the keys will show is not known yet; one that can be taken must have its plans
	if cfg.Auto && unasked(mostCommon, underCommon(plan.To{})...) {
		for _, to := range slices.Concat(cfg.Plans, cfg.Candidates) {
			if to.Partitioner == nil {
				add(underCommon(to)...)
			}
		}
	}
	if !cfg.Multiples {
		return specs
	}
	for times := int64(2); times <= 4 && times*int64(n) <= plan.MaxPartitions; times++ {
		to := plan.To{NumPartitions: int32(times) * n}
		tos := []plan.To{to}
		if cfg.Auto {
			tos = append(tos, underCommon(to)...)
		}
		unasked(mostLoads, tos...)
	}
	return specs
}

// mostLoads is how many loads, of a partition in a candidate's partition, are kept unasked: 64 MiB where the records of
// each partition come that wide. The topic's count decides, not how many of its partitions are read, so that shards have
// the same candidates.
const mostLoads = 1 << 22

// mostCommon is the same for the common mappings under auto, which a plan for a topic with more keys than memory needs: 1 GiB
// where records come that wide, as under the wrong mappings they do.
const mostCommon = 1 << 26

// common are the mappings of nearly all producers beside Java's, for topics with too many keys to place them later.
var common = []string{"crc32u", "fnv1a_abs", "fnv1a_mask", "murmur2u"}

// underCommon is a candidate under each of the common mappings.
func underCommon(to plan.To) []plan.To {
	var tos []plan.To
	for _, class := range partitioner.Classes() {
		if slices.Contains(common, class.ID) {
			tos = append(tos, plan.To{Partitioner: class.Partitioner(), NumPartitions: to.NumPartitions})
		}
	}
	return tos
}

// resolve fills in what a candidate leaves as it is in a topic of n partitions written by pt.
func resolve(to plan.To, pt partitioner.Partitioner, n int32) profile.CandidateSpec {
	spec := profile.CandidateSpec{Partitioner: to.Partitioner, NumPartitions: to.NumPartitions}
	if spec.Partitioner == nil {
		spec.Partitioner = pt
	}
	if spec.NumPartitions == 0 {
		spec.NumPartitions = n
	}
	return spec
}

// Conclude judges a profile of records that were all read. It needs no source, so a saved profile can be judged again.
// Plans of a profile that lacks partitions are refused with a [*PartError].
func Conclude(p *profile.Profile, cfg Config) (*Result, error) {
	if err := cfg.needsAll(len(p.Partitions), int(p.NumPartitions)); err != nil {
		return nil, err
	}
	return conclude(p, cfg, nil, nil)
}

// placement is how p's placement is judged: against the partitioner given, or against none with Auto. e is what a sample
// was, nil when everything was read.
func (c Config) placement(p *profile.Profile, e *sample.Estimates) placement.Config {
	pc := placement.DefaultConfig()
	pc.Sampled = isEstimated(e)
	pc.Further, pc.KeyFormat = c.Further, c.KeyFormat
	pc.Assigned = p.Assigned() > 0
	if !c.Auto || pc.Assigned && c.Partitioner.ID() == p.Partitioner {
		pc.Assumed = c.Partitioner
	}
	return pc
}

// conclude judges a profile. placed is its placement when that was judged before; nil otherwise.
func conclude(p *profile.Profile, cfg Config, e *sample.Estimates, placed *placement.Placement) (*Result, error) {
	if placed == nil {
		placed = placement.Judge(p, cfg.placement(p, e))
	}
	counted, reason := p, ""
	if cfg.Auto && placed.Answer != placement.Assigned {
		var err error
		if p, cfg.Partitioner, reason, err = reassume(p, cfg.Partitioner, placed); err != nil {
			return nil, err
		}
	}
	if e != nil {
		p, counted = p.Scale(e.Factor), nil
	}
	res := &Result{
		Profile:   p,
		Counted:   counted,
		Placement: placed,
		Reason:    reason,
		Sample:    e,
		Complete:  true,
		Distinct:  p.Distinct(),
		Records:   skew.Judge(p, profile.Records, cfg.Skew, e),
		Bytes:     skew.Judge(p, profile.Bytes, cfg.Skew, e),
	}
	res.bursts = findBursts(res)
	var shown []profile.TopKey
	for i := range min(keysListed, len(res.bursts)) {
		res.Records.AddBurst(p, res.bursts[i].key)
		shown = append(shown, res.bursts[i].key)
	}
	res.Peaks = skew.FindPeaks(p, shown, res.Records.Top, res.Bytes.Top)
	for i := range p.Partitions {
		res.Complete = res.Complete && p.Partitions[i].Coverage.Complete()
	}
	for _, to := range cfg.Plans {
		spec := resolve(to, cfg.Partitioner, p.NumPartitions)
		i := candidateIndex(p, spec)
		if i < 0 {
			var err error
			if p, err = withCandidate(p, spec); err != nil {
				return nil, fmt.Errorf("planning for %d partitions under %s: %w", spec.NumPartitions, spec.Partitioner.ID(), err)
			}
			i = len(p.Candidates) - 1
		}
		simulated, err := plan.Simulate(p, i, spec.Partitioner, &res.Records, &res.Bytes, e)
		if err != nil {
			return nil, err
		}
		if simulated.Candidate.Partitioner == simulated.From.Partitioner {
			simulated.Others = placed.Others(spec.Partitioner)
		}
		res.Plans = append(res.Plans, simulated)
	}
	res.Profile = p
	res.hotRatio = cfg.Skew.HotRatio
	res.Findings = findings(res)
	return res, nil
}

// kept begins the reason when the partitioner found cannot be taken.
const kept = "kept, as there are more keys than the memory budget holds: "

// reassume returns the profile under the partitioner that its keys show. In bounded mode only a partitioner that was
// computed while reading can be taken, if need be the class of the client found.
func reassume(p *profile.Profile, fallback partitioner.Partitioner, placed *placement.Placement) (under *profile.Profile, pt partitioner.Partitioner, reason string, err error) {
	pt, reason = placed.Best(fallback)
	if pt.ID() == p.Partitioner {
		return p, pt, reason, nil
	}
	if rule, err := partitioner.Lookup(fallback.ID()); err == nil && rule.Class == pt.ID() {
		return p, fallback, reason, nil // the bare class found is the fallback's own
	}
	i := candidateIndex(p, profile.CandidateSpec{Partitioner: pt, NumPartitions: p.NumPartitions})
	if i < 0 && p.Mode() != profile.Exact {
		if rule, err := partitioner.Lookup(pt.ID()); err == nil {
			if class, err := partitioner.Parse(rule.Class); err == nil {
				pt = class
				i = candidateIndex(p, profile.CandidateSpec{Partitioner: pt, NumPartitions: p.NumPartitions})
			}
		}
		if i < 0 {
			return p, fallback, kept + placed.Reason(), nil
		}
	}
	if i < 0 {
		var err error
		if p, err = withCandidate(p, profile.CandidateSpec{Partitioner: pt, NumPartitions: p.NumPartitions}); err != nil {
			return nil, nil, "", fmt.Errorf("placing keys under %s: %w", pt.ID(), err)
		}
		i = len(p.Candidates) - 1
	}
	q := *p
	q.Partitioner = pt.ID()
	q.Candidates = slices.Clone(p.Candidates)
	q.Candidates[0], q.Candidates[i] = q.Candidates[i], q.Candidates[0]
	q.Partitions = slices.Clone(p.Partitions)
	for j := range q.Partitions {
		q.Partitions[j].Placed = slices.Clone(q.Partitions[j].Placed)
		q.Partitions[j].Placed[0], q.Partitions[j].Placed[i] = q.Partitions[j].Placed[i], q.Partitions[j].Placed[0]
	}
	return &q, pt, reason, nil
}

// withCandidate returns the profile with a placement that was not computed while reading; it takes every key.
func withCandidate(p *profile.Profile, spec profile.CandidateSpec) (*profile.Profile, error) {
	placed, err := p.Place(spec)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Candidates = append(slices.Clone(p.Candidates), profile.Candidate{Partitioner: spec.Partitioner.ID(), NumPartitions: spec.NumPartitions})
	q.Partitions = slices.Clone(p.Partitions)
	for i := range q.Partitions {
		q.Partitions[i].Placed = append(slices.Clone(q.Partitions[i].Placed), placed[i])
	}
	return &q, nil
}

func candidateIndex(p *profile.Profile, spec profile.CandidateSpec) int {
	for i, c := range p.Candidates {
		if c.Partitioner == spec.Partitioner.ID() && c.NumPartitions == spec.NumPartitions {
			return i
		}
	}
	return -1
}
