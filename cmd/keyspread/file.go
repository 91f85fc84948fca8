package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/analyze/source/dump"
)

const sourceHelp = `In place of a topic, FILE can be a profile that --save-profile wrote, or keys: one a line (a blank line is the empty key),
or one JSON object a line with "key", "hex" or "base64" (null is the null key) and optionally partition, timestamp (epoch
ms), value_size (bytes; -1 is a tombstone) and header_size (bytes, at least 0). With --topic-partitions N keys without a
partition are placed as in a topic of N. - is standard input.`

// fileFlags say how a file of keys is read.
type fileFlags struct {
	format     string
	partitions int32
}

func (f *fileFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "input-format", "", strings.Join(dump.Formats(), " or ")+", of a FILE of keys (default: by its first byte)")
	cmd.Flags().Int32VarP(&f.partitions, "topic-partitions", "n", 0, "partitions of the topic that a FILE of keys stands for")
	_ = cmd.RegisterFlagCompletionFunc("input-format", cobra.FixedCompletions(dump.Formats(), cobra.ShellCompDirectiveNoFileComp))
}

// topicFlags mean nothing for a file, which is read whole.
var topicFlags = []string{
	"isolation", "partitions", "since", "until", "tail", "offsets", "rack", "max-rate", "max-records", "max-bytes", "max-time",
	"full-under", "precision", "confidence", "block-size", "seed",
}

// refuseTopicFlags tells of a flag that would be ignored for a file.
func refuseTopicFlags(cmd *cobra.Command, name string) error {
	for _, flag := range topicFlags {
		if cmd.Flags().Changed(flag) {
			return usageError{fmt.Errorf("%s is a file, which is read whole: --%s is for a topic", name, flag)}
		}
	}
	if cmd.Flag("sample").Value.String() == sampleBlocks {
		return usageError{fmt.Errorf("%s is a file, which is read whole: --sample blocks is for a topic", name)}
	}
	if name == "-" && cmd.Flag("refine").Value.String() == "true" {
		return usageError{errors.New("--refine reads a second time, which standard input cannot be: name a file")}
	}
	return nil
}

// refuseReadFlags tells of a flag that would be ignored for a profile, which was counted before.
func refuseReadFlags(cmd *cobra.Command, name string) error {
	for _, flag := range []string{"shard", "refine", "verify-keys"} {
		if cmd.Flags().Changed(flag) {
			return usageError{fmt.Errorf("%s is a profile, which was counted before: --%s is for reading", name, flag)}
		}
	}
	return nil
}

// refuseFileFlags tells of a flag that would be ignored for a topic or a profile.
func refuseFileFlags(cmd *cobra.Command, what string) error {
	if cmd.Flags().Changed("topic-partitions") {
		return usageError{fmt.Errorf("--topic-partitions is for a file of keys; %s has its own count, keyspread plan --to COUNT,... shows others", what)}
	}
	if cmd.Flags().Changed("input-format") {
		return usageError{fmt.Errorf("--input-format is for a file of keys, not for %s", what)}
	}
	return nil
}

// parquetMagic starts every Parquet file.
var parquetMagic = []byte("PAR1")

// analyzeFile runs the main job on a saved profile or on a file of keys, whichever the file is.
func analyzeFile(cmd *cobra.Command, name string, cfg analyze.Config, out output, read *readFlags) error {
	if read.topic != "" || read.servers != "" {
		return usageError{fmt.Errorf("%s is a file: it excludes --topic and --bootstrap-server", name)}
	}
	if err := refuseTopicFlags(cmd, name); err != nil {
		return err
	}
	if n := read.file.partitions; n < 0 || n > plan.MaxPartitions {
		return usageError{fmt.Errorf("--topic-partitions %d: want 1 to %d", n, plan.MaxPartitions)}
	}
	in, size, err := openInput(cmd, name)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(name) == name {
		return fmt.Errorf("%w; to read a topic give -b HOST:PORT -t %s", err, name)
	}
	if err != nil {
		if cmd.Context().Err() != nil {
			return interrupted(cmd.Context(), "nothing had been read yet")
		}
		return err
	}
	buffered := bufio.NewReaderSize(in, 1<<16)
	start, err := buffered.Peek(len(parquetMagic))
	if err != nil && !errors.Is(err, io.EOF) && cmd.Context().Err() == nil {
		return errors.Join(fmt.Errorf("reading %s: %w", name, err), in.Close())
	}
	if bytes.Equal(start, parquetMagic) {
		if err := in.Close(); err != nil {
			return err
		}
		if name == "-" {
			return usageError{errors.New("a profile cannot be read from standard input: name its file")}
		}
		if err := refuseFileFlags(cmd, "profile "+name); err != nil {
			return err
		}
		if err := refuseReadFlags(cmd, name); err != nil {
			return err
		}
		return concludeProfile(cmd, name, cfg, out)
	}
	if tool := compressedBy(start); tool != "" && read.file.format == "" {
		return errors.Join(fmt.Errorf("%s is compressed: unpack it first, as in %s -dc FILE | keyspread %s - ...; if its lines are keys as "+
			"they are, give --input-format", name, tool, cmd.Name()), in.Close())
	}
	return analyzeKeys(cmd, name, size, bufferedInput{buffered, in}, cfg, out, read)
}

// compressedBy names the tool that unpacks what starts so; "" for what is not compressed.
func compressedBy(start []byte) string {
	for tool, magic := range map[string]string{"gzip": "\x1f\x8b\x08", "zstd": "\x28\xb5\x2f\xfd", "xz": "\xfd7zX", "lz4": "\x04\x22\x4d\x18"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return tool
		}
	}
	return ""
}

// bufferedInput is a file that can be looked ahead in.
type bufferedInput struct {
	*bufio.Reader
	io.Closer
}

// openInput opens a file, or standard input for "-". size is -1 when it cannot be read twice, as a pipe.
func openInput(cmd *cobra.Command, name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(newStoppableReader(cmd.Context(), cmd.InOrStdin())), -1, nil
	}
	var file *os.File
	err = orStopped(cmd.Context(), func() (err error) { // a pipe waits for its writer
		file, err = os.Open(name)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder: name a profile or a file of keys", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if info.Mode().IsRegular() {
		return file, info.Size(), nil
	}
	return struct {
		io.Reader
		io.Closer
	}{newStoppableReader(cmd.Context(), file), file}, -1, nil
}

// analyzeKeys counts a file of keys. It is read whole: a file has no offsets to draw blocks from.
func analyzeKeys(cmd *cobra.Command, name string, size int64, in bufferedInput, cfg analyze.Config, out output, read *readFlags) error {
	defer in.Close()
	format, err := dump.Detect(in.Reader)
	if err != nil && cmd.Context().Err() != nil {
		return interrupted(cmd.Context(), "nothing had been read yet")
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if read.file.format != "" {
		if format, err = dump.ParseFormat(read.file.format); err != nil {
			return usageError{fmt.Errorf("--input-format: %w", err)}
		}
	}
	if read.file.partitions == 0 {
		return usageError{fmt.Errorf("%s is a file of keys: say how many partitions its topic has or shall have, --topic-partitions N", name)}
	}
	cfg.Sample = nil
	if format == dump.Lines {
		cfg.Auto = false // lines are placed by the assumed partitioner: there is nothing to tell it from
	}
	if cfg.Refine && size < 0 {
		return usageError{fmt.Errorf("--refine reads a second time, which %s cannot be: name a regular file", name)}
	}
	opened := io.ReadCloser(in)
	src, err := dump.New(dump.Config{
		Name: name, Format: format, NumPartitions: read.file.partitions, Partitioner: itself(cfg.Partitioner), Size: max(0, size),
		Open: func() (io.ReadCloser, error) {
			if first := opened; first != nil {
				opened = nil
				return first, nil
			}
			return os.Open(name) // a second read
		},
	})
	if err != nil {
		return usageError{err}
	}
	return runAnalyze(cmd, src, cfg, out)
}
