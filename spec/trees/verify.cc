#include "tessera/spec/trees/verify.h"

#include <utility>

#include <glog/logging.h>

#include "tessera/base/status_macros.h"

namespace tessera {

void Verification::Next(const Choice& choice) {
  CHECK_NE(node_, TokenTree::kNone) << "all is settled";
  verdict_.emitted.push_back(choice.token);
  node_ = choice.last ? TokenTree::kNone : tree_->Child(node_, choice.token);
  if (node_ != TokenTree::kNone && gone_ != nullptr && (*gone_)[node_]) node_ = TokenTree::kNone;
  if (node_ != TokenTree::kNone) verdict_.path.push_back(node_);
}

Verdict Verification::Take() {
  node_ = TokenTree::kNone;
  gone_ = nullptr;
  return std::move(verdict_);
}

absl::Status Verify(const TokenTree& tree, LogitsOfNode logits_of_node, Chooser chooser, Verdict& verdict) {
  Verification verification(tree);
  const absl::Status status = [&]() -> absl::Status {
    while (verification.node() != TokenTree::kNone) {
      ASSIGN_OR_RETURN(const absl::Span<const float> logits, logits_of_node(verification.node()));
      ASSIGN_OR_RETURN(const Choice choice, chooser(logits));
      verification.Next(choice);
    }
    return absl::OkStatus();
  }();
  verdict = verification.Take();
  return status;
}

}  // namespace tessera
