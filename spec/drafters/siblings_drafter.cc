#include "tessera/spec/drafters/siblings_drafter.h"

#include <utility>

#include "tessera/spec/drafters/followers_tree.h"

namespace tessera {

void SiblingsDrafter::Join(std::shared_ptr<SharedHistory> siblings) { siblings_ = std::move(siblings); }

void SiblingsDrafter::Begin(absl::Span<const TokenId> text) {
  if (siblings_ == nullptr) return;
  text_ = siblings_->BeginText();
  siblings_->Add(text_, text.back());
}

absl::Status SiblingsDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  if (siblings_ == nullptr) return absl::OkStatus();
  DraftFollowers({&siblings_->texts(), siblings_->PlaceOf(text_)}, /*second=*/{}, budget, tree);
  return absl::OkStatus();
}

void SiblingsDrafter::Commit(const TokenTree& /*tree*/, const Verdict& verdict) {
  if (siblings_ == nullptr) return;
  for (const TokenId token : verdict.emitted) siblings_->Add(text_, token);
}

}  // namespace tessera
