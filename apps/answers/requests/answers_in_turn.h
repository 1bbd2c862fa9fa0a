// Shows several answers one after another, although all are written at once. The first answer is shown as it comes, each other answer once
// all earlier ones have ended.
//
//   AnswersInTurn shown(3);
//   shown.Add(0, "Paris");                    // "Answer 1 of 3:\nParis"
//   shown.Add(1, "It is");                    // nothing so far
//   shown.End(0);                             // "\n\nAnswer 2 of 3:\nIt is"
//   RETURN_IF_ERROR(shown.status());          // the first error of writing
//
// After a failure to write, the end of all answers is asked for (RequestCancel). Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

class AnswersInTurn {
 public:
  explicit AnswersInTurn(int answers) : answers_(answers) {}

  // Adds text to an answer, which has not ended. Answers count from 0.
  void Add(int answer, absl::string_view text);
  void End(int answer);
  const absl::Status& status() const { return status_; }

 private:
  struct Answer {
    std::string waiting = {};   // Not shown so far.
    bool ended = false;
  };
  void ShowWaiting();
  void Write(absl::string_view text);

  std::vector<Answer> answers_;
  size_t turn_ = 0;             // The number of the answer that is shown as it comes.
  bool begun_ = false;          // The heading of the answer is shown.
  absl::Status status_;
};

}  // namespace tessera
