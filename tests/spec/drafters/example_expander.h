// The draft of docs/adding_a_model_drafter.md, which links here: a model that knows which token follows which.
//
//   auto expander = std::make_unique<BigramExpander>(table);        // after 1: 2; after 2: 3 or 1
//   ExpandingDrafter drafter(std::move(expander), std::move(policy), {});
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tessera/spec/trees/expander.h"

namespace tessera {

class BigramExpander : public Expander {
 public:
  // The tokens that may follow a token, the likeliest first.
  using Table = std::map<TokenId, TopTokens>;
  explicit BigramExpander(Table after) : after_(std::move(after)) {}

  absl::string_view name() const override { return "bigram"; }

  // A real model computes the keys and values of `text` here.
  absl::Status Begin(absl::Span<const TokenId> /*text*/) override { return absl::OkStatus(); }

  // A real model computes one row per node: the node sees the text, its ancestors and itself.
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override {
    std::vector<TopTokens> answers;
    for (const int node : nodes) {
      const auto found = after_.find(tree[node].token);
      TopTokens answer = found == after_.end() ? TopTokens() : found->second;
      answer.resize(std::min(answer.size(), static_cast<size_t>(most)));
      answers.push_back(std::move(answer));
    }
    return answers;
  }

  // A real model keeps the rows of nodes that became text, and drops all other rows.
  absl::Status Commit(const TokenTree& /*tree*/, absl::Span<const TokenId> /*emitted*/) override { return absl::OkStatus(); }

  // A real model asks a CostProfile, which learns the times of its passes.
  double Seconds(int /*rows*/) const override { return 0; }

  int64_t bytes() const override { return static_cast<int64_t>(after_.size() * sizeof(Table::value_type)); }

 private:
  const Table after_;
};

}  // namespace tessera
