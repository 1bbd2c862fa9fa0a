#include "tessera/apps/answers/requests/answers_to_prompt.h"

#include <utility>

#include "tessera/base/status_macros.h"

namespace tessera {

AnswersToPrompt::AnswersToPrompt(const NewAnswer& asked, int count, bool distinct_first_tokens, ParallelAnswers& answers)
    : asked_(asked), answers_(answers), distinct_first_tokens_(distinct_first_tokens), siblings_(answers.NewSet()),
      results_(static_cast<size_t>(count), TimedAnswer{.text = {.reason = FinishReason::kCancelled}}), shown_(count) {}

absl::StatusOr<std::vector<TimedAnswer>> AnswersToPrompt::Run(bool shows) {
  if (distinct_first_tokens_) {
    AddDistinct();
  } else {
    for (int number = 0; number < static_cast<int>(results_.size()); ++number) Add(number, std::nullopt, shows);
  }
  RETURN_IF_ERROR(answers_.Run());
  RETURN_IF_ERROR(shown_.status());
  RETURN_IF_ERROR(error_);
  return std::move(results_);
}

// Adds the answers once the first tokens are known.
void AnswersToPrompt::AddDistinct() {
  const int count = static_cast<int>(results_.size());
  answers_.AskFirstTokens(asked_.prompt, asked_.adapter, count, [this](const absl::StatusOr<std::vector<FirstToken>>& firsts) {
    error_.Update(firsts.status());
    if (!firsts.ok()) return;
    for (size_t number = 0; number < firsts->size(); ++number) Add(static_cast<int>(number), (*firsts)[number], /*shows=*/false);
  });
}

void AnswersToPrompt::Add(int number, const std::optional<FirstToken>& first, bool shows) {
  NewAnswer answer = asked_;
  answer.stream = static_cast<uint64_t>(number);
  answer.first = first;
  answer.siblings = siblings_;
  if (shows) answer.on_text = [this, number](absl::string_view text) { shown_.Add(number, text); };
  answer.on_end = [this, number, shows](const absl::StatusOr<TimedAnswer>& result) {
    error_.Update(result.status());
    if (result.ok()) results_[static_cast<size_t>(number)] = *result;
    if (shows) shown_.End(number);
  };
  answers_.Add(std::move(answer));
}

}  // namespace tessera
