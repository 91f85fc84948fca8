package analyze

import (
	"fmt"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
)

// movedKeyFindings reports the hot keys that a plan sends elsewhere, plan by plan.
func movedKeyFindings(r *Result) []finding.Finding {
	var fs []finding.Finding
	for i := range r.Plans {
		p := &r.Plans[i]
		subject := candidateText(p)
		listed, more := 0, 0
		for _, m := range p.HotKeys {
			if !m.Moved {
				continue
			}
			if listed == keysListed {
				more++
				continue
			}
			listed++
			fs = append(fs, movedKeyFinding(m, subject, p.Candidate.NumPartitions != p.From.NumPartitions))
		}
		if more > 0 {
			fs = append(fs, finding.Finding{
				ID: finding.MovedHotKey, Severity: finding.Warning, Subject: subject,
				What: fmt.Sprintf("At %s, %s more hot or undecided keys move.", subject, finding.Count(int64(more))),
				Do:   "The plan lists them.",
			})
		}
	}
	return fs
}

// orderLostFindings reports the plans under which keys no longer choose a partition.
func orderLostFindings(r *Result) []finding.Finding {
	var fs []finding.Finding
	now := int64(0)
	for i := range r.Profile.Partitions {
		now += r.Profile.Partitions[i].Placed[0].Unkeyed.Records
	}
	total := r.Profile.Total().Records
	for i := range r.Plans {
		p := &r.Plans[i]
		lost := p.Unkeyed.Records - now
		if lost <= 0 {
			continue
		}
		subject := candidateText(p)
		fs = append(fs, finding.Finding{
			ID: finding.OrderLost, Severity: finding.Warning, Subject: subject,
			What: fmt.Sprintf("At %s, %s of records no longer go by their key: those keys have no partition and no order.",
				subject, finding.Percent(float64(lost)/float64(total))),
			Do: "Level loads are the price of order here; take it only where no consumer needs the order of a key.",
		})
	}
	return fs
}

func candidateText(p *plan.Plan) string {
	text := finding.Plural(int64(p.Candidate.NumPartitions), "partition", "partitions")
	if p.Candidate.Partitioner != p.From.Partitioner {
		text += " under " + p.Candidate.Partitioner
	}
	return text
}

func movedKeyFinding(m plan.KeyMove, subject string, counts bool) finding.Finding {
	from := make([]string, len(m.From))
	for i, p := range m.From {
		from[i] = fmt.Sprint(p)
	}
	moves, drain := "moves from partition "+strings.Join(from, ", "), "its old partition"
	to := fmt.Sprintf("partition %d", m.To)
	if len(from) > 1 {
		moves, drain = fmt.Sprintf("is in partitions %s and moves", firstOf(from, 8)), "its old partitions"
		to += " alone"
	}
	if m.To < 0 {
		to = "no partition: the client itself fails for it"
	}
	change := "the new count"
	if !counts {
		change = "the new partitioner"
	}
	return finding.Finding{
		ID: finding.MovedHotKey, Severity: finding.Warning, Subject: subject, Key: m.Key, HasKey: true,
		What: fmt.Sprintf("At %s, key {key} (%s of records) %s to %s.",
			subject, finding.PercentRange(m.Share.Lo, m.Share.Hi), moves, to),
		Do: "Drain " + drain + " in every group before producers see " + change + "; a replay can meet both.",
	}
}
