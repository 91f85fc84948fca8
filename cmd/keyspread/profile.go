package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/profile"
	"keyspread/analyze/source"
)

// loadProfile reads a saved profile.
func loadProfile(name string) (*profile.Profile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("reading profile %s: it is a folder", name)
	}
	p, err := profile.Load(file, info.Size())
	if err != nil {
		return nil, unreadable(name, err)
	}
	return p, nil
}

// unreadable names the file in an error of [profile.Load], which names what it was doing itself, and says what to do.
func unreadable(name string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err // which names the file
	}
	text := strings.TrimPrefix(err.Error(), "reading profile")
	const damaged = "its document is damaged"
	if before, _, ok := strings.Cut(text, damaged); ok { // what follows is of the encoding inside
		text = before + damaged
	}
	switch {
	case errors.Is(err, profile.ErrNotProfile):
		text += "; name a file that --save-profile wrote; if this is one, copy it again, or read the topic again"
	case strings.Contains(text, "damaged"):
		text += "; copy the file again, or read the topic again with --save-profile"
	}
	return errors.New("reading profile " + name + text)
}

// saveProfile writes a profile. The file appears whole or not at all.
func saveProfile(name string, save func(io.Writer) error) error {
	if err := writeFile(name, save); err != nil {
		return fmt.Errorf("saving the profile: %w", err)
	}
	return nil
}

func newMergeCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "merge PROFILE... -o FILE",
		Short: "Join the profiles of shards, or of ranges of one topic that do not overlap",
		Long: `merge joins profiles that analyze --save-profile wrote for disjoint parts of one topic: shards (--shard 1/4), lists of
partitions, or ranges of offsets. Overlapping ranges are refused by name. The order of the files does not matter.

Give all parts at once: the bounds of what was merged before are as true, but can be wider, than those
of one merge, and ranges that did not cover the same partitions then are still said not to.`,
		Args: cobra.ArbitraryArgs,
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usageError{errors.New("no output named: give -o FILE")}
			}
			if len(args) < 2 {
				return usageError{fmt.Errorf("merging needs two profiles or more, got %d", len(args))}
			}
			if err := checkTargets([]string{output}, args...); err != nil {
				return usageError{err}
			}
			var merged *profile.Profile
			err := orStopped(cmd.Context(), func() (err error) {
				merged, err = mergeFiles(args)
				return err
			})
			if err == nil {
				err = saveProfile(output, func(w io.Writer) error { return merged.Save(stoppableWriter{cmd.Context(), w}) })
			}
			if err != nil && cmd.Context().Err() != nil {
				return interrupted(cmd.Context(), output+" was not written")
			}
			return err
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` for the joined profile")
	return cmd
}

func mergeFiles(names []string) (*profile.Profile, error) {
	profiles := make([]*profile.Profile, len(names))
	for i, name := range names {
		p, err := loadProfile(name)
		if err != nil {
			return nil, err
		}
		profiles[i] = p
	}
	for i, p := range profiles {
		if p.Topic != profiles[0].Topic {
			return nil, fmt.Errorf("%s is of topic %q and %s of %q: merge joins parts of one topic", names[0], profiles[0].Topic, names[i], p.Topic)
		}
	}
	merged, err := profile.Merge(profiles...)
	if err != nil {
		return nil, mergeError(names, profiles, err)
	}
	return merged, nil
}

// mergeError names the first two files that cannot be joined, rather than all.
func mergeError(names []string, profiles []*profile.Profile, err error) error {
	for j := range profiles {
		for i := range j {
			if alike(profiles[i], profiles[j]) && !overlap(profiles[i], profiles[j]) {
				continue
			}
			if _, pair := profile.Merge(profiles[i], profiles[j]); pair != nil {
				return fmt.Errorf("%s and %s: %w", names[i], names[j], pair)
			}
		}
	}
	return fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
}

// alike reports whether two profiles were read with the same settings.
func alike(p, q *profile.Profile) bool {
	return p.NumPartitions == q.NumPartitions && p.Isolation == q.Isolation && p.Partitioner == q.Partitioner &&
		slices.Equal(p.Candidates, q.Candidates)
}

// overlap reports whether two profiles have offsets of a partition in common.
func overlap(p, q *profile.Profile) bool {
	spans := map[int32][]source.Span{}
	for i := range p.Partitions {
		spans[p.Partitions[i].ID] = p.Partitions[i].Spans
	}
	for i := range q.Partitions {
		for _, s := range q.Partitions[i].Spans {
			if slices.ContainsFunc(spans[s.Partition], func(t source.Span) bool { return s.Start < t.End && t.Start < s.End }) {
				return true
			}
		}
	}
	return false
}

// parseShard reads "2/4"; empty is the whole topic.
func parseShard(s string) (analyze.Shard, error) {
	if s == "" {
		return analyze.Shard{}, nil
	}
	part, of, ok := strings.Cut(s, "/")
	i, errPart := strconv.ParseInt(part, 10, 32)
	n, errOf := strconv.ParseInt(of, 10, 32)
	if !ok || errPart != nil || errOf != nil {
		return analyze.Shard{}, fmt.Errorf("--shard %q: want I/N, such as 1/4", s)
	}
	shard := analyze.Shard{I: int32(i), N: int32(n)}
	if err := shard.Validate(); err != nil || n == 0 {
		return shard, fmt.Errorf("--shard %q: want I/N with 1 <= I <= N", s)
	}
	return shard, nil
}
