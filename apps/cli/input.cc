#include "tessera/apps/cli/input.h"

#include <cerrno>
#include <cstring>

#include <gflags/gflags.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

DEFINE_string(prompt, "", "TEXT|The prompt.");
DEFINE_string(prompt_file, "", "FILE|A file with the prompt; - is standard input. A line break at its end is dropped.");
DEFINE_bool(special, false, "|Read special tokens in the text as such, not as plain characters.");

namespace tessera {
namespace {

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

// Appends what standard input has next; false at its end.
absl::StatusOr<bool> ReadSome(std::string* text) {
  if (!WaitForInput(STDIN_FILENO)) return absl::CancelledError("standard input: interrupted");
  char buffer[1 << 16];
  const ssize_t bytes = read(STDIN_FILENO, buffer, sizeof(buffer));
  if (bytes < 0) return absl::UnavailableError(absl::StrCat("standard input: ", std::strerror(errno)));
  text->append(buffer, bytes);
  return bytes > 0;
}

absl::Status CheckSize(size_t bytes) {
  if (bytes <= static_cast<size_t>(kLargestPrompt)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("standard input: found over ", bytes, " bytes at once, expected at most ", kLargestPrompt));
}

absl::StatusOr<std::string> ReadStandardInput() {
  std::string text;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, ReadSome(&text));
    if (!more) return text;
    RETURN_IF_ERROR(CheckSize(text.size()));
  }
}

}  // namespace

bool PromptGiven() { return IsGiven("prompt") || IsGiven("prompt_file"); }

absl::StatusOr<std::string> ReadPrompt() {
  if (IsGiven("prompt") && IsGiven("prompt_file")) {
    return WrongUsage("prompt_file", "beside --prompt", "one of them");
  }
  if (IsGiven("prompt")) return FLAGS_prompt;
  const bool standard_input = FLAGS_prompt_file.empty() || FLAGS_prompt_file == "-";
  if (standard_input && !IsGiven("prompt_file") && isatty(STDIN_FILENO)) {
    return WrongUsage("prompt", "none", "--prompt=TEXT, --prompt_file=FILE or text on standard input");
  }
  ASSIGN_OR_RETURN(std::string text, standard_input ? ReadStandardInput() : ReadFileToString(FLAGS_prompt_file, kLargestPrompt));
  if (absl::EndsWith(text, "\n")) text.pop_back();
  if (absl::EndsWith(text, "\r")) text.pop_back();
  return text;
}

// Past the end of a line that was too long.
absl::Status LineReader::Skip() {
  while (skips_) {
    const size_t end = waiting_.find('\n');
    skips_ = end == std::string::npos && !at_end_;
    waiting_.erase(0, end == std::string::npos ? end : end + 1);
    if (!skips_) break;
    ASSIGN_OR_RETURN(const bool more, ReadSome(&waiting_));
    at_end_ = !more;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LineReader::Next(std::string* line) {
  RETURN_IF_ERROR(Skip());
  size_t searched = 0;
  while (true) {
    const size_t end = waiting_.find('\n', searched);
    if (end != std::string::npos) {
      *line = waiting_.substr(0, end);
      waiting_.erase(0, end + 1);
      return true;
    }
    if (at_end_) {
      line->swap(waiting_);
      waiting_.clear();
      return !line->empty();
    }
    const absl::Status fits = CheckSize(waiting_.size());
    skips_ = !fits.ok();
    RETURN_IF_ERROR(fits);
    searched = waiting_.size();
    ASSIGN_OR_RETURN(const bool more, ReadSome(&waiting_));
    at_end_ = !more;
  }
}

}  // namespace tessera
