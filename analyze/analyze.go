package analyze

import (
	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/skew"
)

// Result is everything concluded from one profile. Reports start from it.
type Result struct {
	Profile  *profile.Profile
	Partial  bool   // the run was stopped before its end
	Why      string // why it is partial
	Complete bool   // every offset asked for was read

	Distinct profile.Distinct
	Records  skew.Skew
	Bytes    skew.Skew
	Plans    []plan.Plan // in the order asked for; empty unless a plan was asked for
	Findings []finding.Finding
}
