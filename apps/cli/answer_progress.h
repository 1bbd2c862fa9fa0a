// Shows how a prompt and its answer come on, where words on a terminal or their absence do not tell enough: of a streamed model.
//
//   AnswerProgress progress(engine, flash_bytes_per_second);
//   progress.Follow(answerer, options);                       // AnswerOptions: its on_stage and on_text
//   answerer.Run(prompt, options);
//
// A line of pass_progress.h, but none beside text that comes on a terminal. Threads: the engine's.
#pragma once

#include <memory>

#include "tessera/apps/cli/pass_progress.h"
#include "tessera/runtime/chat/answer.h"

namespace tessera {

class AnswerProgress {
 public:
  AnswerProgress(Engine& engine, double flash_bytes_per_second) : engine_(engine), flash_(flash_bytes_per_second) {}

  // Has `options` tell this of the answer, besides what on_text does already. Nothing of an engine that does not stream. Both must outlive
  // the answer, as this must.
  void Follow(const Answerer& answerer, AnswerOptions& options);

 private:
  Engine& engine_;
  const double flash_;
  std::unique_ptr<PassProgress> shown_;   // Null: nothing is.
  int before_ = 0;                        // Tokens that the session had before the answer.
};

}  // namespace tessera
