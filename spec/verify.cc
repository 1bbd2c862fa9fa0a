#include "tessera/spec/verify.h"

#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status Verify(const TokenTree& tree, LogitsOfNode logits_of_node, Chooser chooser, Verdict& verdict) {
  verdict = {.path = {TokenTree::kRoot}};
  for (int node = TokenTree::kRoot; node != TokenTree::kNone;) {
    ASSIGN_OR_RETURN(const absl::Span<const float> logits, logits_of_node(node));
    ASSIGN_OR_RETURN(const Choice choice, chooser(logits));
    verdict.emitted.push_back(choice.token);
    node = choice.last ? TokenTree::kNone : tree.Child(node, choice.token);
    if (node != TokenTree::kNone) verdict.path.push_back(node);
  }
  return absl::OkStatus();
}

}  // namespace tessera
