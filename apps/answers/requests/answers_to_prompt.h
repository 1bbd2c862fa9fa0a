// Several answers to one prompt, written at once: they differ in their draws, or also in the tokens that they begin with.
//
//   NewAnswer asked = {.prompt = tokens, .max_tokens = 64};
//   AnswersToPrompt written(asked, /*count=*/4, /*distinct_first_tokens=*/false, *answers);
//   ASSIGN_OR_RETURN(const std::vector<TimedAnswer> results, written.Run(/*shows=*/true));    // "Answer 1 of 4:\n..."
//
// An answer does not depend on how many there are. Threads: one at a time.
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
  // asked: what all of them have in common. distinct_first_tokens: they begin with the likeliest first tokens
  // (runtime/scheduler/first_tokens.h), and have these in TimedAnswer::first. Both references must outlive this.
  AnswersToPrompt(const NewAnswer& asked, int count, bool distinct_first_tokens, ParallelAnswers& answers);

  // What came of each, in their order; kCancelled where the end was asked for. An error of one is that of all, and so is one of writing.
  // shows: they are shown while they come (answers_in_turn.h), but those with distinct first tokens. REQUIRES: called once.
  absl::StatusOr<std::vector<TimedAnswer>> Run(bool shows);

 private:
  void Add(int number, const std::optional<FirstToken>& first, bool shows);
  void AddDistinct();

  const NewAnswer& asked_;
  ParallelAnswers& answers_;
  const bool distinct_first_tokens_;
  const std::shared_ptr<SharedHistory> siblings_;   // They draft from each other; null: they do not.
  std::vector<TimedAnswer> results_;
  AnswersInTurn shown_;
  absl::Status error_;
};

}  // namespace tessera
