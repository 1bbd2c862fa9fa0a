// Answers from a recorded draft, for trees that are grown again: an Expander that asks no model, and adds up the passes' times on a phone.
//
//   auto draft = std::make_unique<RecordedExpander>(RecordedExpander::Times{.seconds = seconds_of_pass});
//   RecordedExpander& recorded = *draft;
//   ExpandingDrafter drafter(std::move(draft), std::move(policy), {});
//   recorded.Use(text);                                                 // a DraftedText, which must outlive its use
//   drafter.Begin(absl::MakeConstSpan(text.tokens).first(1));           // and then Propose and Commit, pass by pass
//   Print(recorded.seconds(), recorded.passes().at({1, 0}));            // how many passes had one node, and no row of the text
//
// A node on the path gets the draft's recorded answer; a node off the path gets an answer by kOffPathRule (draft_recording.h). Tokens of
// the text that no pass has computed yet are rows of the next pass, in addition to its nodes. Such tokens are the tokens whose nodes were
// never expanded. Where the draft is a head, all tokens of the text are such rows: a head computes each accepted token once more, from the
// target's states. The prompt has been read.
// Threads: as a Drafter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"
#include "tessera/spec/trees/expander.h"

namespace tessera {

class RecordedExpander : public Expander {
 public:
  struct Times {
    std::function<double(int nodes, int text_rows)> seconds = nullptr;   // The time of a pass.
    bool is_head = false;                                                // Computes all tokens of the text again.
  };
  // REQUIRES: times.seconds.
  explicit RecordedExpander(Times times) : times_(std::move(times)) {}

  // Sets the text that Begin is about. Counts of passes go on.
  void Use(const DraftedText& text) { recorded_ = &text; }

  absl::string_view name() const override { return "recorded"; }
  // FailedPrecondition before Use; InvalidArgument (found, expected) for a text that is no prefix of the recorded one.
  absl::Status Begin(absl::Span<const TokenId> text) override;
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override;
  // InvalidArgument (found, expected) for tokens that are not the text's next ones.
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override;
  double Seconds(int rows) const override { return times_.seconds(rows, 0); }
  int64_t bytes() const override { return 0; }

  double seconds() const { return seconds_; }          // The sum over all passes.
  using Passes = std::map<std::pair<int, int>, int64_t>;
  const Passes& passes() const { return passes_; }     // The number of passes, by nodes and rows of the text.

 private:
  absl::Status CheckNext(size_t first, absl::Span<const TokenId> tokens) const;

  const Times times_;
  const DraftedText* recorded_ = nullptr;
  size_t root_ = 0;                   // In the text.
  int waiting_ = 0;                   // Tokens before the root that still have to be computed.
  std::vector<bool> expanded_;        // [node], since the last commit.
  double seconds_ = 0;
  Passes passes_;
};

}  // namespace tessera
