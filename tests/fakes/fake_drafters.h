// Drafters that know too much or too little: a model's text must be the same with each.
//
//   RandomDrafter random(/*vocabulary=*/64, /*seed=*/3, /*text=*/greedy);   // right by chance, and where the text is known by half
//   ScriptedDrafter oracle(greedy);                                         // always right
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/spec/drafters/drafter.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {

// Knows how many tokens were emitted since Begin, the first root included.
class CountingDrafter : public Drafter {
 public:
  absl::string_view name() const override { return "fake"; }
  void Begin(absl::Span<const TokenId> text) override { emitted_ = 1; }
  void Commit(const TokenTree& tree, const Verdict& verdict) override { emitted_ += verdict.emitted.size(); }
  int64_t bytes() const override { return 0; }

 protected:
  size_t emitted_ = 0;
};

// Drafts the given tokens as the text after the prompt: an oracle, if the tokens are right; with `wrong` added to each token, always wrong.
class ScriptedDrafter : public CountingDrafter {
 public:
  explicit ScriptedDrafter(std::vector<TokenId> text, int wrong = 0, int vocabulary = 1)
      : text_(std::move(text)), wrong_(wrong), vocabulary_(vocabulary) {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    int node = TokenTree::kRoot;
    for (size_t i = emitted_; i < text_.size() && static_cast<int>(i - emitted_) < std::min(budget.max_nodes, budget.max_depth); ++i) {
      node = tree.Add(node, wrong_ == 0 ? text_[i] : (text_[i] + wrong_) % vocabulary_, 0.9f);
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<TokenId> text_;
  const int wrong_, vocabulary_;
};

// Drafts tokens that would have been right some steps ago.
class LateDrafter : public CountingDrafter {
 public:
  LateDrafter(std::vector<TokenId> text, size_t steps) : text_(std::move(text)), steps_(steps) {}
  void Begin(absl::Span<const TokenId> text) override {
    CountingDrafter::Begin(text);
    earlier_.clear();
  }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    earlier_.push_back(emitted_);
    if (earlier_.size() <= steps_) return absl::OkStatus();
    const size_t begin = earlier_[earlier_.size() - 1 - steps_];
    int node = TokenTree::kRoot;
    for (size_t i = begin; i < text_.size() && static_cast<int>(i - begin) < std::min(budget.max_nodes, budget.max_depth); ++i) {
      node = tree.Add(node, text_[i], 0.9f);
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<TokenId> text_;
  const size_t steps_;
  std::vector<size_t> earlier_;      // The number of tokens that were emitted at each step.
};

// Drafts right tokens, but slowly by the clock, as if another program had the processor.
class SlowDrafter : public ScriptedDrafter {
 public:
  SlowDrafter(std::vector<TokenId> text, int64_t nanos, TickingClock& clock)
      : ScriptedDrafter(std::move(text)), nanos_(nanos), clock_(clock) {}
  absl::string_view name() const override { return "slow"; }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    clock_.Advance(nanos_);
    return ScriptedDrafter::Propose(budget, tree);
  }

 private:
  const int64_t nanos_;
  TickingClock& clock_;
};

// Drafts trees of any shape and size: random tokens, the same few again and again, and among them the right ones of the given text.
class RandomDrafter : public CountingDrafter {
 public:
  RandomDrafter(int vocabulary, uint64_t seed, std::vector<TokenId> text = {})
      : vocabulary_(vocabulary), random_(seed), text_(std::move(text)) {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    const int nodes = static_cast<int>(random_.Below(budget.max_nodes + 1)), most = tree.size() + nodes;
    for (int tries = 0; tree.size() < most && tries < 4 * nodes; ++tries) {  // Some would be too deep, or exist already.
      const int parent = static_cast<int>(random_.Below(2) == 0 ? tree.size() - 1 : random_.Below(tree.size()));
      const size_t place = emitted_ + tree[parent].depth;
      if (tree[parent].depth >= budget.max_depth) continue;
      const bool right = place < text_.size() && random_.Below(4) > 0;
      const TokenId token = right ? text_[place] : static_cast<TokenId>(random_.Below(random_.Below(2) == 0 ? 3 : vocabulary_));
      tree.Add(parent, token, (1 + random_.Below(100)) / 100.0f);
    }
    return absl::OkStatus();
  }

 private:
  const int vocabulary_;
  SeededRandom random_;
  const std::vector<TokenId> text_;
};

}  // namespace tessera
