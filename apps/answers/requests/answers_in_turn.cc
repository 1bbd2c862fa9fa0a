#include "tessera/apps/answers/requests/answers_in_turn.h"

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/text/output.h"

namespace tessera {

void AnswersInTurn::Add(int answer, absl::string_view text) {
  absl::StrAppend(&answers_[answer].waiting, text);
  ShowWaiting();
}

void AnswersInTurn::End(int answer) {
  answers_[answer].ended = true;
  ShowWaiting();
}

void AnswersInTurn::ShowWaiting() {
  for (; turn_ < answers_.size(); ++turn_, begun_ = false) {
    Answer& answer = answers_[turn_];
    if (answer.waiting.empty() && !answer.ended) return;
    if (!begun_) Write(absl::StrCat(turn_ == 0 ? "" : "\n", "Answer ", turn_ + 1, " of ", answers_.size(), ":\n"));
    begun_ = true;
    Write(answer.waiting);
    answer.waiting.clear();
    if (!answer.ended) return;
    Write("\n");
  }
}

void AnswersInTurn::Write(absl::string_view text) { WriteOutputOrCancel(text, status_); }

}  // namespace tessera
