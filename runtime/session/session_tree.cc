// Drafts in a session: a pass over a tree of tokens, of which one path is committed.
#include <algorithm>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

// Returns at least 1 unless the context is full: without room for one row plain decoding fails, too, and reports the reason.
int Session::TreeRoom() const {
  const int room = std::min(core_->context() - length(), core_->runner().row_capacity());
  if (room <= 1) return room;
  const EngineCore::Hold hold = core_->AwaitHold();
  return core_->health().ok() ? std::max(1, core_->RoomFor(room)) : 1;
}

absl::Status Session::PassTree(const TokenTree& tree) {
  CHECK(text_->tree() == nullptr) << "a tree waits for Keep";
  const absl::Status status = core_->Guarded([&] { return PassNodes(tree); });
  if (!core_->health().ok()) text_->Abandon();
  return status;
}

absl::Status Session::PassNodes(const TokenTree& tree) {
  const int capacity = core_->runner().row_capacity();
  if (tree.size() > capacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("draft: found ", tree.size(), " nodes, expected at most ", capacity, ", the rows of a pass"));
  }
  std::vector<TokenId> tokens;
  for (const TokenTree::Node& node : tree.nodes()) tokens.push_back(node.token);
  RETURN_IF_ERROR(CheckTokens(tokens));
  RETURN_IF_ERROR(Restore());
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  RETURN_IF_ERROR(core_->MakeRoom(tree.size()));
  rows_.clear();
  RETURN_IF_ERROR(text_->PlaceTree(tree, options_.adapter, rows_));
  const absl::Status status = RunRows(/*wanted: all*/ std::nullopt);
  TellKept(length(), /*count=*/0);
  if (!status.ok()) text_->KeepPath({}, /*compact=*/false);
  return status;
}

absl::Status Session::TreeLogits(absl::Span<const int> nodes, TensorView<float> logits) {
  CHECK(text_->tree() != nullptr) << "no tree";
  return core_->Guarded([&] { return ComputeLogits(nodes, logits); });
}

void Session::Keep(absl::Span<const int> path, absl::Span<const float> logits) {
  CHECK(text_->tree() != nullptr) << "no tree";
  const absl::Status kept = core_->Guarded([&] { return KeepNodes(path); });
  if (!core_->health().ok()) text_->Abandon();
  if (path.empty() && kept.ok()) return;
  has_logits_ = kept.ok() && !logits.empty();
  if (has_logits_) std::copy(logits.begin(), logits.end(), logits_buffer_.begin());
}

absl::Status Session::KeepNodes(absl::Span<const int> path) {
  const EngineCore::Hold hold = core_->AwaitHold();
  RETURN_IF_ERROR(core_->health());
  text_->KeepPath(path, core_->compacts_drafts());
  return absl::OkStatus();
}

}  // namespace tessera
