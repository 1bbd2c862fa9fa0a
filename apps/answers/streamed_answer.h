// Writes an answer to standard output as the text comes: unchanged, or wrapped and coloured for a terminal.
//
//   StreamedAnswer written(StreamedAnswer::Form::kPlain);
//   ASSIGN_OR_RETURN(const Generation result, answerer.Run(tokens, {.max_tokens = 64, .on_text = written.on_text()}));
//   RETURN_IF_ERROR(written.Finish());
//
// A failure to write ends the answer, and Finish returns the error. Wrapping and colours do not change the answer. Threads: one at a time.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/screen/terminal.h"
#include "tessera/apps/cli/screen/word_wrap.h"

namespace tessera {

class StreamedAnswer {
 public:
  enum class Form {
    kPlain,      // The bytes of the answer, and nothing else.
    kTerminal,   // Lines that break at words, at the width that the terminal has now; in colour, if the terminal has colours.
  };
  explicit StreamedAnswer(Form form);

  // Returns the function that takes the text. The function must not be called after the object is gone.
  std::function<void(absl::string_view text)> on_text();

  // Writes the rest of a line that is wrapped. Returns the first failure to write.
  absl::Status Finish();

 private:
  void Write(absl::string_view text);

  std::optional<WordWrap> wrap_;   // None: plain.
  const Colours colours_;
  absl::Status status_;
};

}  // namespace tessera
