#include "tessera/apps/answers/streamed_answer.h"

#include <unistd.h>

#include "tessera/apps/cli/text/output.h"

namespace tessera {

StreamedAnswer::StreamedAnswer(Form form) : colours_(STDOUT_FILENO) {
  if (form == Form::kTerminal) wrap_.emplace(TerminalColumns(STDOUT_FILENO));
}

std::function<void(absl::string_view text)> StreamedAnswer::on_text() {
  return [this](absl::string_view text) { Write(text); };
}

absl::Status StreamedAnswer::Finish() {
  if (wrap_.has_value() && status_.ok()) status_ = WriteOutput(colours_.Answer(wrap_->Finish()));
  return status_;
}

void StreamedAnswer::Write(absl::string_view text) {
  if (wrap_.has_value()) WriteOutputOrCancel(colours_.Answer(wrap_->Add(text)), status_);
  else WriteOutputOrCancel(text, status_);
}

}  // namespace tessera
