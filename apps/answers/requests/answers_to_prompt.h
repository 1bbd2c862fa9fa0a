// Writes several answers to one prompt at once. The answers differ in the draws, or also in the first tokens.
//
//   NewAnswer asked = {.prompt = tokens, .max_tokens = 64};
//   AnswersToPrompt written(asked, /*count=*/4, /*distinct_first_tokens=*/false, *answers);
//   ASSIGN_OR_RETURN(const std::vector<TimedAnswer> results, written.Run(/*shows=*/true));    // "Answer 1 of 4:\n..."
//
// An answer does not depend on the number of answers. Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/answers/requests/answers_in_turn.h"
#include "tessera/runtime/chat/parallel_answers.h"

namespace tessera {

class AnswersToPrompt {
 public:
  // asked: the settings of all answers. distinct_first_tokens: the answers begin with the likeliest first tokens
  // (runtime/scheduler/first_tokens.h), which TimedAnswer::first then holds. Both references must outlive the object.
  AnswersToPrompt(const NewAnswer& asked, int count, bool distinct_first_tokens, ParallelAnswers& answers);

  // Writes the answers and returns the results in order; the reason is kCancelled for an answer whose end was asked for. An error of one
  // answer is the error of the call, and so is an error of writing to standard output. shows: answers are shown while the text comes
  // (answers_in_turn.h), except answers with distinct first tokens. REQUIRES: called once.
  absl::StatusOr<std::vector<TimedAnswer>> Run(bool shows);

 private:
  void Add(int number, const std::optional<FirstToken>& first, bool shows);
  void AddDistinct();

  const NewAnswer& asked_;
  ParallelAnswers& answers_;
  const bool distinct_first_tokens_;
  const std::shared_ptr<SharedHistory> siblings_;   // The answers draft from each other; null: no such drafts.
  std::vector<TimedAnswer> results_;
  AnswersInTurn shown_;
  absl::Status error_;
};

}  // namespace tessera
