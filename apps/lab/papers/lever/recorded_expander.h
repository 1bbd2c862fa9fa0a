// A draft as it was recorded, for trees that are grown again: an Expander that asks no model, and knows what its passes take on a phone.
//
//   auto draft = std::make_unique<RecordedExpander>(RecordedExpander::Times{.seconds = seconds_of_pass});
//   RecordedExpander& recorded = *draft;
//   ExpandingDrafter drafter(std::move(draft), std::move(policy), {});
//   recorded.Use(text);                                                 // a DraftedText, which must outlive its use
//   drafter.Begin(absl::MakeConstSpan(text.tokens).first(1));           // and then Propose and Commit, pass by pass
//   Print(recorded.seconds(), recorded.passes().at({1, 0}));            // how many passes had one node, and no row of the text
//
// A node on the path is answered as the draft answered it; one off the path by kOffPathRule (draft_recording.h). Tokens of the text that
// no pass has computed yet are rows of the next one, beside its nodes: those whose nodes were never expanded, or all where the draft is a
// head, which computes each token that became text once more, from what the target made of it. The prompt has been read.
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
    std::function<double(int nodes, int text_rows)> seconds = nullptr;   // What a pass takes.
    bool is_head = false;                                                // Computes all tokens of the text again.
  };
  // REQUIRES: times.seconds.
  explicit RecordedExpander(Times times) : times_(std::move(times)) {}

  // The text that Begin is about. Counts of passes go on.
  void Use(const DraftedText& text) { recorded_ = &text; }

  absl::string_view name() const override { return "recorded"; }
  // FailedPrecondition before Use; InvalidArgument (found, expected) for a text that is no beginning of the recorded one.
  absl::Status Begin(absl::Span<const TokenId> text) override;
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override;
  // InvalidArgument (found, expected) for tokens that are not the text's next ones.
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override;
  double Seconds(int rows) const override { return times_.seconds(rows, 0); }
  int64_t bytes() const override { return 0; }

  double seconds() const { return seconds_; }          // What all passes took together.
  using Passes = std::map<std::pair<int, int>, int64_t>;
  const Passes& passes() const { return passes_; }     // How many there were, by nodes and rows of the text.

 private:
  absl::Status CheckNext(size_t first, absl::Span<const TokenId> tokens) const;

  const Times times_;
  const DraftedText* recorded_ = nullptr;
  size_t root_ = 0;                   // In the text.
  int waiting_ = 0;                   // Tokens before the root that are to be computed.
  std::vector<bool> expanded_;        // [node], since the last commit.
  double seconds_ = 0;
  Passes passes_;
};

}  // namespace tessera
