#include "tessera/apps/lab/papers/lever/recorded_expander.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status RecordedExpander::CheckNext(size_t first, absl::Span<const TokenId> tokens) const {
  const std::vector<TokenId>& known = recorded_->tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t place = first + i;
    if (place < known.size() && known[place] == tokens[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("recorded draft: text ", recorded_->set, " ", recorded_->id, ": found token ", tokens[i], " at ", place, ", expected ",
                     place < known.size() ? absl::StrCat(known[place]) : "its end"));
  }
  return absl::OkStatus();
}

absl::Status RecordedExpander::Begin(absl::Span<const TokenId> text) {
  if (recorded_ == nullptr) return absl::FailedPreconditionError("recorded draft: found no text, expected one");
  root_ = text.size() - 1;
  waiting_ = 0;
  expanded_.clear();
  return CheckNext(0, text);
}

absl::StatusOr<std::vector<TopTokens>> RecordedExpander::Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) {
  std::vector<TopTokens> said;
  expanded_.resize(tree.nodes().size());
  for (const int node : nodes) {
    expanded_[static_cast<size_t>(node)] = true;
    const size_t place = root_ + static_cast<size_t>(tree[node].depth);
    said.push_back(place < recorded_->said.size() ? recorded_->said[place] : TopTokens());
    said.back().resize(std::min(said.back().size(), static_cast<size_t>(most)));
  }
  const int count = static_cast<int>(nodes.size());
  seconds_ += times_.seconds(count, waiting_);
  ++passes_[{count, waiting_}];
  waiting_ = 0;
  return said;
}

absl::Status RecordedExpander::Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) {
  RETURN_IF_ERROR(CheckNext(root_ + 1, emitted));
  // The root and all tokens before the last need a row, unless the tree's passes computed one.
  int node = TokenTree::kRoot;
  for (size_t i = 0; i < emitted.size(); ++i) {
    const bool computed = node != TokenTree::kNone && static_cast<size_t>(node) < expanded_.size() && expanded_[static_cast<size_t>(node)];
    waiting_ += computed && !(times_.is_head && i > 0) ? 0 : 1;
    node = node == TokenTree::kNone ? TokenTree::kNone : tree.Child(node, emitted[i]);
  }
  root_ += emitted.size();
  expanded_.clear();
  return absl::OkStatus();
}

}  // namespace tessera
