// A recording of speculation while a model wrote texts. Has the numbers of drafted and accepted tokens for each pass, and for each text the
// cases of rejected drafts.
//
//   ASSIGN_OR_RETURN(const Recording recording, ReadRecording("sam.jsonl"));
//   for (const RecordedText& text : recording.texts)
//     for (const RecordedPass& pass : text.passes) seconds += SecondsOfRows(1 + pass.drafted);   // pass.accepted + 1 tokens
//   Print(recording.MeanTokens("summary"));                  // tokens per pass
//
// Recordings are of real decoding (tessera_reproduce record); a time model plays recordings back, and never scales them. A file is JSON
// lines: the first names drafter, model and command, each other is a text. Files are hostile until checked. Plain data:
// thread-safe.
//
//   {"drafter":"sam","command":"tessera_reproduce record ...","model":"m.gguf","model_sha256":"9f86...","most_rows":32}
//   {"task":"rag","id":"481","prompt_sha256":"60bd...","prompt_tokens":812,"tokens":6,"passes":[[9,2],[0,0],[5,0]],
//    "missing":0,"synonym":1,"redundant":1}                                                                            (one line)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct RecordedPass {
  int drafted = 0;    // Rows in addition to the root.
  int accepted = 0;   // At most drafted; the pass gave one token more.
  friend bool operator==(const RecordedPass& a, const RecordedPass& b) = default;
};

struct RecordedText {
  std::string task = {};           // "summary", "rag", "ui" or "reply".
  std::string id = {};             // The record's in its data file.
  std::string prompt_sha256 = {};  // The hash of the prompt's text as given to the model.
  int prompt_tokens = 0;
  int tokens = 0;                  // Written tokens, including the token that the prompt's own pass gives.
  std::vector<RecordedPass> passes = {};
  // Rejected drafts, by CaseOf (rejection_cases.h) of their main path and the whole text. Together at most the passes that accepted less
  // than was drafted: in a tree another path may be rejected, and a text may end before its draft.
  int missing = 0, synonym = 0, redundant = 0;
  friend bool operator==(const RecordedText& a, const RecordedText& b) = default;
};

struct Recording {
  std::string drafter = {};        // "lookup", "sam", "lookup+ours", "sam+ours".
  std::string command = {};        // The command that records this again.
  std::string model = {};          // The file's name,
  std::string model_sha256 = {};   // and the file's hash.
  int most_rows = 32;              // In a pass, the root included.
  std::vector<RecordedText> texts = {};

  // Returns tokens per pass over the texts of one task; of all tasks for an empty name. 1 without a pass.
  double MeanTokens(absl::string_view task) const;
};

// Reads a recording. InvalidArgument (source, line, field, found, expected) for text that is no recording:
//
// - no text; fields that are missing, of another type or unknown; hashes that are none;
// - more tokens accepted than drafted, or more rows than most_rows;
// - passes that do not give tokens - 1 or more tokens, or whose last is not needed for these tokens;
// - more rejected drafts than passes that rejected any.
//
// For files: also the errors of ReadFileToString (base/file.h).
absl::StatusOr<Recording> ParseRecording(absl::string_view text, absl::string_view source);
absl::StatusOr<Recording> ReadRecording(const std::string& path);
std::string RecordingText(const Recording& recording);

// Returns a recording that is committed with the code (apps/lab/papers/record/recordings), for the reports.
absl::StatusOr<Recording> BuiltInRecording(absl::string_view drafter);

}  // namespace tessera
