// The input of a program: a prompt from a flag, a file or standard input, and lines of standard input.
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

constexpr int64_t kLargestPrompt = RequestLimits::kMostLine;  // Also the longest line: any line that can be read can be parsed.

// Returns --prompt, the text of --prompt_file or, if neither is given, standard input unless standard input is a terminal. One line break
// at the end of a file is dropped. Errors begin with the flag if none or both are given.
absl::StatusOr<std::string> ReadPrompt();
bool IsStandardInput(const std::string& path);  // True for "-", and for each name of the terminal that standard input is.
bool PromptGiven();  // True if a flag gives one.

// Tells once, on standard error, if a pipe has text that is not read since a flag gives the prompt. ReadPrompt calls this function. A slow
// writer may have written nothing to the pipe by then, so a program calls the function again at the end.
void TellUnreadInput();

// Returns the number of lines with text that standard input will give, if standard input is a regular file; 0: not known. Reads on from the
// file's position, and does not change the position. REQUIRES: nothing was read so far.
int64_t CountInputLines();

class LineReader {
 public:
  // Starts editing of lines, if standard input is a terminal (line_editor.h). Lines of any length then come whole. The prompt, if not
  // empty, is shown before each line. Call before the model is opened, so that nothing typed meanwhile is lost.
  absl::Status EditLines(std::string prompt = "");

  // Changes the prompt of EditLines. Has no effect where lines are not edited. REQUIRES: neither prompt is empty.
  void SetPrompt(std::string prompt);

  // Bounds each later line to `most` bytes. Without a call, and where lines are edited, the bound is kLargestPrompt.
  void LimitBytes(int64_t most) { most_bytes_ = static_cast<size_t>(most); }

  // Gives the next line without the line break (LF, or CR and LF), and without a byte order mark before the first line. Returns false at
  // the end. Cancelled if a signal came (WaitForInput). ResourceExhausted for a line longer than the bound of LimitBytes. Such a line is
  // skipped during the read, so that no more of the line than the bound is ever held. The next call gives the following line.
  absl::StatusOr<bool> Next(std::string* line);

  // Returns whether Next would give a line, the end or an error now, without waiting for a writer. Reads all available input and keeps a
  // part of a line. Where lines are edited, returns true once a line is begun. Errors: as Next.
  absl::StatusOr<bool> Ready();

  // Returns all lines that are left, each with a line break. ResourceExhausted for more bytes than the bound of LimitBytes.
  absl::StatusOr<std::string> Rest();

 private:
  absl::StatusOr<bool> NextBytes(std::string* line);
  bool HasLine();
  absl::Status ReadMore();
  absl::Status TooLong(int64_t bytes) const;

  std::string waiting_;   // Read, but not yet returned.
  size_t searched_ = 0;   // The length of the prefix of `waiting_` without a line break.
  size_t most_bytes_ = static_cast<size_t>(kLargestPrompt);
  int64_t lines_ = 0;         // Lines that were given, or skipped.
  int64_t passed_over_ = 0;   // Bytes of a line that is too long; read, and no longer held.
  bool first_ = true;
  std::unique_ptr<LineEditor> editor_;   // Null: lines are not edited.
  bool at_end_ = false;
};

}  // namespace tessera
