// Package analyze is the pipeline's façade. [Run] takes these steps, each a package below this one:
//
//  1. source: a [source.Source] fixes the offsets to read and delivers records in batches, partition by partition.
//  2. profile: a [profile.Builder] counts them. The profile holds facts only and is all that later steps see.
//  3. skew: the loads are measured, the heaviest keys judged against the share one key may have.
//  4. plan: for each candidate count or partitioner, where future records of the same keys would land.
//  5. finding: what all of it means, most urgent first, each with the next step.
//
// Package reports turns the [Result] into text, JSON or Markdown. Package partitioner serves steps 2 and 4.
package analyze
