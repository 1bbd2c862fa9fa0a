// Shows progress while an answer of a streamed model is computed (pass_progress.h). No progress is shown while text appears on a terminal.
//
//   AnswerProgress progress(engine, answerer, opened.flash_bytes_per_second);
//   ASSIGN_OR_RETURN(const Generation result, answerer.Run(tokens, progress.Of({.max_tokens = 100})));
//
// Threads: one at a time.
#pragma once

#include <memory>

#include "tessera/apps/cli/screen/pass_progress.h"
#include "tessera/runtime/chat/answer.h"

namespace tessera {

class AnswerProgress {
 public:
  // Both references must outlive the object. flash_bytes_per_second 0: unknown.
  AnswerProgress(Engine& engine, const Answerer& answerer, double flash_bytes_per_second)
      : engine_(engine), answerer_(answerer), flash_(flash_bytes_per_second) {}

  // Returns the options, with progress shown if anything is streamed. The result may be used while the object lives.
  AnswerOptions Of(AnswerOptions options);

 private:
  void Show(AnswerOptions::Stage stage, int64_t most, bool text_is_seen);

  Engine& engine_;
  const Answerer& answerer_;
  const double flash_;
  int length_before_ = 0;                  // Tokens computed before this stage.
  std::unique_ptr<PassProgress> shown_;    // Null: nothing is shown.
};

}  // namespace tessera
