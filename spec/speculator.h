// Decides what is drafted for one stream, and how much: asks a drafter, cuts its tree to what is worth its rows, and learns what came of it.
//
//   Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16});
//   speculator.Begin(text);                                                    // ends with the token that was chosen last
//   const TokenTree tree = speculator.Propose({.rows = 512, .depth = 4000});   // the root alone: nothing is worth a row
//   ... a pass over the tree, Verify ...
//   speculator.Commit(tree, verdict, {.pass_seconds = 0.004, .head_seconds = 0.001});
//
// Threads: as a Drafter.
#pragma once

#include <memory>

#include "absl/types/span.h"
#include "tessera/spec/drafter.h"
#include "tessera/spec/token_tree.h"
#include "tessera/spec/verify.h"

namespace tessera {

// What the caller has room for.
struct TreeRoom {
  int rows = 0;      // The root included.
  int depth = 0;     // Below the root.
};

// What a step took.
struct StepTime {
  double draft_seconds = 0;
  double pass_seconds = 0;   // Of all rows, without the head.
  double head_seconds = 0;
};

class Speculator {
 public:
  struct Options {
    int max_rows = 16;       // Of a pass, the root included.
  };
  Speculator(std::unique_ptr<Drafter> drafter, const Options& options) : drafter_(std::move(drafter)), options_(options) {}

  DrafterNeeds needs() const { return drafter_->needs(); }
  void Begin(absl::Span<const TokenId> text);
  void LearnPrompt(int first, absl::Span<const TopTokens> top) { drafter_->LearnPrompt(first, top); }

  // A tree below the last token of the text. A drafter that fails is as one that has nothing to say: the log tells.
  TokenTree Propose(const TreeRoom& room);
  void Commit(const TokenTree& tree, const Verdict& verdict, const StepTime& time);

 private:
  const std::unique_ptr<Drafter> drafter_;
  const Options options_;
  TokenId root_ = 0;
};

}  // namespace tessera
