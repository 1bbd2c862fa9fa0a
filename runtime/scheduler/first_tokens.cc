#include "tessera/runtime/scheduler/first_tokens.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/sampler.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

absl::StatusOr<std::vector<FirstToken>> LikeliestFirstTokens(absl::Span<const float> logits, const Tokenizer& tokenizer, int count) {
  if (count < 1) return absl::InvalidArgumentError(absl::StrCat("first tokens: found a count of ", count, ", expected 1 or more"));
  ASSIGN_OR_RETURN(const Sampler unfiltered, Sampler::Create({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0}));
  std::vector<float> distribution(logits.size());
  RETURN_IF_ERROR(unfiltered.Distribution(logits, {}, absl::MakeSpan(distribution)));
  std::vector<float> of_beginnings(logits.begin(), logits.end());
  for (size_t token = 0; token < of_beginnings.size(); ++token) {
    if (tokenizer.IsEnd(static_cast<TokenId>(token))) of_beginnings[token] = -std::numeric_limits<float>::infinity();
  }
  std::vector<FirstToken> firsts;
  const int most = static_cast<int>(std::min(static_cast<size_t>(count), logits.size()));
  for (const TopToken& top : TopTokensOf(of_beginnings, most)) {
    firsts.push_back({top.token, distribution[static_cast<size_t>(top.token)], tokenizer.Piece(top.token, /*render_special=*/true)});
  }
  if (firsts.size() == static_cast<size_t>(count)) return firsts;
  return absl::InvalidArgumentError(
      absl::StrCat("first tokens: found a count of ", count, ", expected at most ", firsts.size(), ", which may begin a text"));
}

StreamOptions FirstTokensStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt, int count, FirstTokensCallback on_found) {
  using Firsts = absl::StatusOr<std::vector<FirstToken>>;
  const auto found = std::make_shared<Firsts>(absl::CancelledError("first tokens: cancelled while the prompt was read"));
  StreamOptions stream = {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .text = {.max_tokens = 1}};
  stream.text.on_token = [&tokenizer, count, found](TokenId, absl::Span<const float> logits) {
    *found = LikeliestFirstTokens(logits, tokenizer, count);
  };
  stream.on_end = [found, on_found = std::move(on_found)](const absl::StatusOr<Generation>& end) {
    on_found(end.ok() ? *found : Firsts(end.status()));
  };
  return stream;
}

}  // namespace tessera
