package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/profile"
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
		return nil, fmt.Errorf("reading profile %s: %w", name, err)
	}
	return p, nil
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
partitions, or ranges of offsets. Overlapping ranges are refused by name. The order of the files does not matter.`,
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
	merged, err := profile.Merge(profiles...)
	if err != nil {
		return nil, fmt.Errorf("merging %s: %w", strings.Join(names, ", "), err)
	}
	return merged, nil
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
