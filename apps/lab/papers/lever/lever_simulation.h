// Simulates text generation by a system that Lever is compared with, on a phone's clock: real trees of recorded drafts, at modeled costs.
//
//   const LeverSetup lever = SetupOf("lever");                            // or "flash_ar", "chain", "edgellm", ...
//   ASSIGN_OR_RETURN(const LeverRun run, SimulateLever(costs, lever, recording, "gsm8k"));     // lever_costs.h, draft_recording.h
//   Print(run.tokens_per_second(), run.tokens_per_pass(), run.rows_per_pass());
//
// Trees are made by the rules themselves (spec/policies/tree_policy.h, by their public interface). Each rule grows its tree from the
// answers of a RecordedExpander. The text of the recording says how many tokens of the tree come true, and the next tree begins there. The
// clock: drafting, then the pass, then the head. A pass reads some layers while others are computed (streamed_layers.h; reading goes on
// between passes). The clock starts when the prompt's own pass has given the first token, as in the paper (section 5.1: decoding alone).
//
// Apart from trees, the systems differ in the paper's execution (section 4.4). Lever drafts in batches, and computes logits on the CPU on
// demand. The others draft node by node on the CPU, and compute logits of all rows in the pass. Lever's policy knows the model's own costs
// at first, and then learns from each pass, as on a machine. Threads: as the costs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/lever/lever_costs.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"

namespace tessera {

struct LeverSetup {
  std::string tree = {};              // For MakeTreePolicy. Empty: no model drafts.
  bool retrieval = false;             // Uses the recording's passes of SAM decoding.
  DraftWay drafting = DraftWay::kSingleCpu;
  HeadWay head = HeadWay::kEagerNpu;
  double pinned = 0;                  // Share of the first layers that stay in memory, 0 to 1.
  int most_tokens = 128;              // Each text counts up to this number of tokens: at least 1.
};

// Returns the setup of a system. "flash_ar", "chain", "edgellm" and "lever" are the paper's figure 10. "specinfer" and "opt_tree" are
// figure 11, and differ from lever in the tree alone. "retrieval" is additional. REQUIRES: `system` is one of these names.
LeverSetup SetupOf(absl::string_view system);
const char* LeverSystemName(absl::string_view system);   // "Chain-SD", ... REQUIRES: as above.

// Sums over texts, from each first token to the last.
struct LeverRun {
  int64_t texts = 0, tokens = 0, passes = 0, rows = 0;
  int64_t reached = 0;                               // Rows that the text reached, whose logits were needed.
  double seconds = 0;                                // The whole time,
  double draft_seconds = 0, head_seconds = 0;        // and the parts in addition to passes.
  double draft_by_way[3] = {}, head_by_way[3] = {};  // The same parts by each of kDraftWays and kHeadWays, with unchanged trees.
  LeverRun& operator+=(const LeverRun& other);
  double tokens_per_second() const { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
  double tokens_per_pass() const { return passes > 0 ? static_cast<double>(tokens) / static_cast<double>(passes) : 1; }
  double rows_per_pass() const { return passes > 0 ? static_cast<double>(rows) / static_cast<double>(passes) : 1; }
};

// Simulates all texts of a set in turn; a rule keeps its knowledge from one text to the next. FailedPrecondition for a set without a text;
// InvalidArgument (found, expected) for a setup out of range; the errors of MakeTreePolicy, of the drafter and of the costs.
absl::StatusOr<LeverRun> SimulateLever(const LeverCosts& costs, const LeverSetup& setup, const DraftRecording& recording,
                                       absl::string_view set);

// Returns the seconds of one of many equal passes in direct succession, with `rows` rows each: reading and computing.
absl::StatusOr<double> SteadyPassSeconds(const LeverCosts& costs, double pinned, int rows, int64_t positions);

}  // namespace tessera
