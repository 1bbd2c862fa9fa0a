// What a program reads: a prompt from a flag, a file or standard input, and lines of standard input.
//
//   ASSIGN_OR_RETURN(std::string prompt, ReadPrompt());
//   LineReader reader;
//   std::string line;
//   while (true) {
//     ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
//     if (!more) break;
//   }
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/screen/line_editor.h"
#include "tessera/runtime/chat/request_limits.h"

namespace tessera {

constexpr int64_t kLargestPrompt = RequestLimits::kMostLine;  // Also the longest line, so that one which can be read can be parsed.

// --prompt, --prompt_file or, if neither is given, standard input unless that is a terminal. One line break at the end of a file is
// dropped. Errors begin with the flag if none or both are given.
absl::StatusOr<std::string> ReadPrompt();
bool IsStandardInput(const std::string& path);  // True for "-", and for each name of the terminal that standard input is.
bool PromptGiven();  // True if a flag gives one.

// Says once, on standard error, if a pipe has text that is not read since a flag gives the prompt. ReadPrompt says it; a slow writer may
// have nothing for the pipe by then, so a program asks again in the end.
void TellUnreadInput();

// The lines with text that standard input will give, where it is a regular file; 0: not known. Reads the file where it stands, and leaves
// it there. REQUIRES: nothing was read so far.
int64_t CountInputLines();

class LineReader {
 public:
  // From here on lines are edited, if standard input is a terminal (line_editor.h), and come whole whatever their length; each is asked for
  // with the prompt, if it is not empty. Before the model is opened: what is typed meanwhile is not lost then.
  absl::Status EditLines(std::string prompt = "");

  // Changes the prompt of EditLines; nothing where lines are not edited. REQUIRES: neither prompt is empty.
  void SetPrompt(std::string prompt);

  // Bounds each line that follows by so many bytes. Without a call, and where lines are edited, the bound is kLargestPrompt.
  void LimitBytes(int64_t most) { most_bytes_ = static_cast<size_t>(most); }

  // Gives the next line without its line break (LF, or CR and LF) and without a byte order mark before the first; false at the end.
  // Cancelled if a signal came (WaitForInput). ResourceExhausted for a line longer than LimitBytes says: the line is passed over while it
  // is read, so that no more than this of it is ever held, and the next call gives the line after it.
  absl::StatusOr<bool> Next(std::string* line);

  // Whether Next would give a line, the end or an error now, without waiting for a writer. Reads what is there: a part of a line is kept.
  // Where lines are edited, it is true once one is begun. The errors of Next.
  absl::StatusOr<bool> Ready();

  // All lines that are left, each with a line break. ResourceExhausted for more than LimitBytes says.
  absl::StatusOr<std::string> Rest();

 private:
  absl::StatusOr<bool> NextBytes(std::string* line);
  bool HasLine();
  absl::Status ReadMore();
  absl::Status TooLong(int64_t bytes) const;

  std::string waiting_;   // Read, but not yet returned.
  size_t searched_ = 0;   // The beginning of `waiting_` that has no line break.
  size_t most_bytes_ = static_cast<size_t>(kLargestPrompt);
  int64_t lines_ = 0;         // That were given, or passed over.
  int64_t passed_over_ = 0;   // Bytes of a line that is too long, which were read and are not held any more.
  bool first_ = true;
  std::unique_ptr<LineEditor> editor_;   // Null: lines come as they are.
  bool at_end_ = false;
};

}  // namespace tessera
