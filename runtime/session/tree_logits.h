// Logits of the tree that a session's last pass computed. The head runs on demand: only for rows that are planned or asked for.
//
//   TreeLogits logits(session, vocabulary);                       // for all steps: its memory stays
//   RETURN_IF_ERROR(session.PassTree(tree));
//   logits.Begin(tree.size(), {.first_rows = 2});
//   RETURN_IF_ERROR(Verify(tree, [&](int node) { return logits.Of(node); }, chooser, verdict));
//   session.Keep(verdict.path, logits.last());
//
// The plan's first rows are computed together when the first node is asked for. Every other row is computed alone when the row is asked
// for. Holds at most Session::kLogitRows rows. Threads: as Session.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/runtime/session/session.h"
#include "tessera/runtime/session/step_clock.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

class TreeLogits {
 public:
  // Makes logits for the session's trees. `clock` is the basis of time(), as in StepClock, and must outlive this object.
  TreeLogits(Session& session, int vocabulary, const Clock& clock = RealClock());

  // Begins with a new tree of `nodes` nodes, which the session has computed. Computes no logits yet.
  void Begin(int nodes, const LogitsPlan& plan);

  // Returns the logits of a node: [vocabulary], valid until the next call.
  absl::StatusOr<absl::Span<const float>> Of(int node);
  // Returns the last result of `Of` for this tree; empty before the first call.
  absl::Span<const float> last() const { return last_; }

  // Returns the value for Verdict::top: one entry per node. Entries of nodes with computed logits are filled if the plan asks for top
  // tokens (LogitsPlan::top).
  std::vector<TopTokens> TakeTop() { return std::move(top_); }
  // Returns the time of this object's work so far, without the time of the pass.
  const StepTime& time() const { return time_; }
  // Returns the clock of time(), for the pass itself.
  const StepClock& clock() const { return clock_; }

 private:
  absl::Status ComputeFirst();
  absl::Status ComputeOne(int node);
  // Computes logits into rows of the buffer, from `place` on. Adds the time to `seconds`, except the choice of top tokens.
  absl::Status Compute(absl::Span<const int> nodes, int place, double& seconds);
  absl::Span<const float> Row(int place) const {
    const auto row = static_cast<size_t>(vocabulary_);
    return absl::MakeConstSpan(buffer_).subspan(static_cast<size_t>(place) * row, row);
  }

  Session& session_;
  const StepClock clock_;
  const int vocabulary_;
  LogitsPlan plan_;
  bool has_first_ = false;
  std::vector<float> buffer_;      // The first rows, and one more.
  absl::Span<const float> last_;
  std::vector<TopTokens> top_;
  StepTime time_;
};

}  // namespace tessera
