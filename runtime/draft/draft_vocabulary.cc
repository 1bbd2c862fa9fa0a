#include "tessera/runtime/draft/draft_vocabulary.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

std::string Named(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  if (!token.has_value()) return "none";
  return absl::StrCat(*token, " ", Quoted(tokenizer.Piece(*token, /*render_special=*/true)));
}

absl::Status CheckMark(absl::string_view mark, std::optional<TokenId> expected, std::optional<TokenId> found, const Tokenizer& target,
                       const Tokenizer& draft) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("vocabulary: ", mark, ": found ", Named(draft, found), ", expected ", Named(target, expected), ", the target's"));
}

}  // namespace

absl::Status CheckSameVocabulary(const Tokenizer& target, const Tokenizer& draft) {
  const int expected = target.vocabulary_size(), found = draft.vocabulary_size();
  for (TokenId token = 0; token < std::min(expected, found); ++token) {
    const std::string piece = draft.Piece(token, /*render_special=*/true), of_target = target.Piece(token, /*render_special=*/true);
    if (piece == of_target) continue;
    return absl::InvalidArgumentError(absl::StrCat("vocabulary: token ", token, ": found ", Quoted(piece), ", expected ",
                                                   Quoted(of_target), ", the target's"));
  }
  if (std::abs(expected - found) > kMostMoreTokens) {
    return absl::InvalidArgumentError(absl::StrCat("vocabulary: found ", found, " tokens, expected ", expected, ", the target's, or up to ",
                                                   kMostMoreTokens, " more or fewer"));
  }
  RETURN_IF_ERROR(CheckMark("BOS", target.bos(), draft.bos(), target, draft));
  return CheckMark("EOS", target.eos(), draft.eos(), target, draft);
}

absl::Status CheckSameVocabulary(const LoadedModel& target, const LoadedModel& draft) {
  const absl::Status same = CheckSameVocabulary(target.tokenizer(), draft.tokenizer());
  if (same.ok()) return same;
  return absl::InvalidArgumentError(absl::StrCat("draft ", draft.file().path(), " for ", target.file().path(), ": ", same.message()));
}

}  // namespace tessera
