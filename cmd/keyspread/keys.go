package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/placement/keyform"
	"keyspread/analyze/source/kafka"
	"keyspread/analyze/source/registry"
)

// keyFlags say how keys are shown. They change no figure.
type keyFlags struct {
	format   string
	registry string
	user     string
	timeout  time.Duration
}

func (f *keyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "key-format", string(keyform.Auto), "how keys are shown: "+strings.Join(keyFormats(), ", "))
	flags.StringVar(&f.registry, "schema-registry", "", "`URL` of a schema registry, asked only for the names of schema ids in keys")
	flags.StringVar(&f.user, "schema-registry-user", "", "its `user`; the password comes from "+registryPasswordEnv+" or the client properties")
	flags.DurationVar(&f.timeout, "schema-registry-timeout", 5*time.Second, "how long to wait for all names")
	_ = cmd.RegisterFlagCompletionFunc("key-format", cobra.FixedCompletions(keyFormats(), cobra.ShellCompDirectiveNoFileComp))
}

// keyFormats are the names of the key formats.
func keyFormats() []string {
	var names []string
	for _, f := range keyform.Formats {
		names = append(names, string(f))
	}
	return names
}

func (f *keyFlags) parse() (keyform.Format, error) {
	format, err := keyform.ParseFormat(f.format)
	if err != nil {
		return format, fmt.Errorf("--key-format: %w", err)
	}
	return format, nil
}

// Properties that belong to the schema registry, by the names of Confluent's clients and, for the password alone, the
// environment's.
const (
	registryPassword    = "schema.registry.password"
	registryPasswordEnv = envPrefix + "SCHEMA_REGISTRY_PASSWORD"
)

var registryUserInfo = []string{"basic.auth.user.info", "schema.registry.basic.auth.user.info"} // USER:PASSWORD

// withoutRegistry leaves out what the reader of the cluster need not know.
func withoutRegistry(p kafka.Properties) kafka.Properties {
	rest := kafka.Properties{}
	for k, v := range p {
		if !strings.HasPrefix(k, "schema.registry.") && !strings.HasPrefix(k, "basic.auth.") {
			rest[k] = v
		}
	}
	return rest
}

// nameSchemas finds out what schema ids are called.
type nameSchemas func(ctx context.Context, ids []uint32) (map[uint32]string, error)

// names returns how schema ids are named; nil when no registry is given. Nothing is sent yet.
func (f *keyFlags) names(connection *connectionFlags) (nameSchemas, error) {
	switch {
	case f.registry == "" && f.user != "":
		return nil, errors.New("--schema-registry-user without --schema-registry")
	case f.registry == "":
		return nil, nil
	case f.timeout <= 0:
		return nil, fmt.Errorf("--schema-registry-timeout %v: want a time above 0", f.timeout)
	}
	layers, err := connection.layers()
	if err != nil {
		return nil, err
	}
	cfg := registry.Config{URL: f.registry, Transport: http.DefaultTransport}
	for _, l := range layers {
		for _, name := range registryUserInfo {
			if both, ok := l.props[name]; ok {
				cfg.User, cfg.Password, _ = strings.Cut(string(both), ":")
			}
		}
		if password := l.props[registryPassword]; password != "" {
			cfg.Password = string(password)
		}
	}
	if f.user != "" {
		cfg.User = f.user
	}
	client, err := registry.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("--schema-registry: %w", err)
	}
	return func(ctx context.Context, ids []uint32) (map[uint32]string, error) {
		ctx, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		return client.Names(ctx, ids)
	}, nil
}

// mostNamed is how many schema ids are asked about, those of most keys first. Few topics have more than two.
const mostNamed = 12

// schemaNames names the schemas of a result's keys. Trouble with the registry is a warning: the report does without.
func (o output) schemaNames(cmd *cobra.Command, res *analyze.Result) map[uint32]string {
	if o.names == nil || cmd.Context().Err() != nil || res.Placement == nil || len(res.Placement.Keys.Schemas) == 0 {
		return nil
	}
	schemas := res.Placement.Keys.Schemas
	var ids []uint32
	for _, s := range schemas[:min(mostNamed, len(schemas))] {
		ids = append(ids, s.ID)
	}
	names, err := o.names(cmd.Context(), ids)
	if err != nil && !o.quiet {
		warn(cmd.ErrOrStderr(), "%v", err)
	}
	return names
}
