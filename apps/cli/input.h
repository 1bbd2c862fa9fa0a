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
#include <string>

#include <gflags/gflags_declare.h>

#include "absl/status/statusor.h"

DECLARE_string(prompt);
DECLARE_string(prompt_file);
DECLARE_bool(special);   // How the text of a prompt is read.

namespace tessera {

constexpr int64_t kLargestPrompt = int64_t{64} << 20;  // Also of a line of requests.

// --prompt, --prompt_file or, if neither is given, standard input unless that is a terminal. One line break at the end of a file is
// dropped. Errors begin with the flag if none or both are given.
absl::StatusOr<std::string> ReadPrompt();
bool PromptGiven();  // By a flag.

class LineReader {
 public:
  // The next line without its line break; false at the end. Cancelled if a signal came (WaitForInput); ResourceExhausted for a
  // line longer than kLargestPrompt, after which comes the line after that.
  absl::StatusOr<bool> Next(std::string* line);

 private:
  absl::Status Skip();

  std::string waiting_;   // Read, but not yet given out.
  bool at_end_ = false;
  bool skips_ = false;    // What waits is the rest of a line that was too long.
};

}  // namespace tessera
