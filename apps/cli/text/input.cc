#include "tessera/apps/cli/text/input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/byte_order_mark.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kInput[] = "standard input";

// Appends the next bytes of standard input; returns false at the end.
absl::StatusOr<bool> ReadSome(std::string* text) {
  Wake wake;
  while ((wake = WaitForInput(STDIN_FILENO)) == Wake::kResumed) {}
  if (wake == Wake::kSignal) return absl::CancelledError("standard input: interrupted");
  char buffer[1 << 16];
  const ssize_t bytes = read(STDIN_FILENO, buffer, sizeof(buffer));
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return true;  // Another process has taken the input.
  if (bytes < 0) return absl::UnavailableError(absl::StrCat("standard input: ", std::strerror(errno)));
  text->append(buffer, bytes);
  return bytes > 0;
}

// Returns whether a read would not wait.
bool HasInput() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) > 0;
}

absl::Status CheckSize(size_t bytes, size_t most) {
  if (bytes <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("standard input: found over ", bytes, " bytes in one text, expected at most ", most));
}

// Reads all of standard input. At a terminal lines are edited, since a terminal that takes lines passes on at most 4,095 bytes of each.
absl::StatusOr<std::string> ReadStandardInput(int64_t most) {
  if (isatty(STDIN_FILENO) == 1) {
    LineReader lines;
    lines.LimitBytes(most);
    RETURN_IF_ERROR(lines.EditLines());
    return lines.Rest();
  }
  std::string text;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, ReadSome(&text));
    if (!more) return text;
    RETURN_IF_ERROR(CheckSize(text.size(), static_cast<size_t>(most)));
  }
}

}  // namespace

bool IsStandardInput(const std::string& path) {
  if (path == "-") return true;
  struct stat input, named;
  return isatty(STDIN_FILENO) == 1 && fstat(STDIN_FILENO, &input) == 0 && stat(path.c_str(), &named) == 0 &&
         input.st_dev == named.st_dev && input.st_ino == named.st_ino;
}

bool PromptGiven() { return IsGiven("prompt") || IsGiven("prompt_file"); }

// Bounds a prompt by a share of the memory budget, most of which is for the model.
constexpr int64_t kShareOfPrompt = 8, kLeastLargestPrompt = int64_t{1} << 20;

// Returns the most bytes that a prompt may have.
absl::StatusOr<int64_t> LargestPromptOfFlags() {
  if (FLAGS_memory_budget.empty()) return kLargestPrompt;
  const absl::StatusOr<int64_t> budget = ParseByteSize(FLAGS_memory_budget);
  RETURN_IF_ERROR(ForField("memory_budget", budget.status()));
  return std::clamp(*budget / kShareOfPrompt, kLeastLargestPrompt, kLargestPrompt);
}

absl::StatusOr<std::string> ReadPrompt() {
  ASSIGN_OR_RETURN(const int64_t most, LargestPromptOfFlags());
  if (IsGiven("prompt") && IsGiven("prompt_file")) {
    return WrongUsage("prompt_file", "beside --prompt", "one of them");
  }
  if (IsGiven("prompt")) {
    if (!FLAGS_chat) TellUnreadInput();
    return FLAGS_prompt;
  }
  const bool standard_input = FLAGS_prompt_file.empty() || IsStandardInput(FLAGS_prompt_file);
  if (standard_input && !IsGiven("prompt_file") && isatty(STDIN_FILENO)) {
    return WrongUsage("prompt", "none", "--prompt=TEXT, --prompt_file=FILE or text on standard input");
  }
  ASSIGN_OR_RETURN(std::string text, standard_input ? ReadStandardInput(most) : ReadTextFile(FLAGS_prompt_file, most));
  RETURN_IF_ERROR(DropByteOrderMark(standard_input ? kInput : FLAGS_prompt_file, &text));
  if (absl::EndsWith(text, "\n")) text.pop_back();
  if (absl::EndsWith(text, "\r")) text.pop_back();
  if (!standard_input && !FLAGS_chat) TellUnreadInput();  // Now: the file may be standard input by another name.
  return text;
}

void TellUnreadInput() {
  struct stat input;
  pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const bool pipe = fstat(STDIN_FILENO, &input) == 0 && S_ISFIFO(input.st_mode);
  int bytes = 0;
  if (!pipe || poll(&ready, 1, 0) <= 0 || ioctl(STDIN_FILENO, FIONREAD, &bytes) != 0 || bytes == 0) return;
  static bool told = false;
  if (std::exchange(told, true)) return;
  const char* const flag = IsGiven("prompt") ? "prompt" : "prompt_file";
  WriteError(!PromptGiven() ? "A dry run does not read standard input.\n"
                 : absl::StrCat("Standard input is not read, since --", flag, " is given; --prompt_file=- reads it.\n"));
}

int64_t CountInputLines() {
  struct stat input;
  off_t offset = fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
  if (offset < 0) return 0;
  std::string bytes(size_t{1} << 20, '\0');
  int64_t lines = 0;
  bool has_text = false;   // The line so far.
  for (ssize_t count; (count = pread(STDIN_FILENO, bytes.data(), bytes.size(), offset)) > 0; offset += count) {
    for (absl::string_view left(bytes.data(), static_cast<size_t>(count)); !left.empty();) {
      const size_t end = left.find('\n');
      has_text = has_text || !absl::StripAsciiWhitespace(left.substr(0, end)).empty();
      if (end == absl::string_view::npos) break;
      if (std::exchange(has_text, false)) ++lines;
      left.remove_prefix(end + 1);
    }
  }
  return lines + (has_text ? 1 : 0);
}

absl::Status LineReader::EditLines(std::string prompt) {
  if (isatty(STDIN_FILENO) != 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(editor_, LineEditor::Open(std::move(prompt)));
  return absl::OkStatus();
}

void LineReader::SetPrompt(std::string prompt) {
  if (editor_ != nullptr) editor_->SetPrompt(std::move(prompt));
}

absl::StatusOr<bool> LineReader::Next(std::string* line) {
  if (editor_ != nullptr) return editor_->Next(line);
  const bool is_first = std::exchange(first_, false);
  ASSIGN_OR_RETURN(const bool more, NextBytes(line));
  if (is_first) RETURN_IF_ERROR(DropByteOrderMark(kInput, line));
  if (absl::EndsWith(*line, "\r")) line->pop_back();
  return more;
}

absl::StatusOr<std::string> LineReader::Rest() {
  std::string all, line;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, Next(&line));
    if (!more) return all;
    absl::StrAppend(&all, line, "\n");
    RETURN_IF_ERROR(CheckSize(all.size(), most_bytes_));
  }
}

bool LineReader::HasLine() {
  searched_ = std::min(waiting_.find('\n', searched_), waiting_.size());
  return searched_ < waiting_.size();
}

// Reads more. Keeps only the number of bytes of a line that is too long.
absl::Status LineReader::ReadMore() {
  if (waiting_.size() > most_bytes_ || passed_over_ > 0) {
    passed_over_ += static_cast<int64_t>(waiting_.size());
    waiting_ = std::string();
    searched_ = 0;
  }
  ASSIGN_OR_RETURN(const bool more, ReadSome(&waiting_));
  at_end_ = !more;
  return absl::OkStatus();
}

absl::Status LineReader::TooLong(int64_t bytes) const {
  return absl::ResourceExhaustedError(
      absl::StrCat("standard input, line ", lines_, ": found a line of ", bytes, " bytes, expected at most ", most_bytes_));
}

absl::StatusOr<bool> LineReader::Ready() {
  if (editor_ != nullptr) return editor_->has_typed() || HasInput();
  while (!HasLine() && !at_end_) {
    if (!HasInput()) return false;
    RETURN_IF_ERROR(ReadMore());
  }
  return true;
}

absl::StatusOr<bool> LineReader::NextBytes(std::string* line) {
  while (!HasLine() && !at_end_) RETURN_IF_ERROR(ReadMore());
  const size_t end = std::exchange(searched_, 0);
  ++lines_;
  const bool whole = end < waiting_.size();   // With a line break.
  std::string rest = waiting_.substr(whole ? end + 1 : end);
  waiting_.resize(end);
  *line = std::exchange(waiting_, std::move(rest));   // A long line is held once.
  const int64_t bytes = std::exchange(passed_over_, 0) + static_cast<int64_t>(line->size());
  if (bytes <= static_cast<int64_t>(most_bytes_)) return whole || !line->empty();
  *line = std::string();
  return TooLong(bytes);
}

}  // namespace tessera
