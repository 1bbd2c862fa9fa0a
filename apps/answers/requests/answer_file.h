// The file of --into: answers to requests (runtime/chat/request.h). Each answer is added as it comes, and is not computed again in a later
// run.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<AnswerFile> into, AnswerFile::Open("answers.jsonl"));
//   WriteError(into->note());                                   // whether a part of a line was cut off
//   ASSIGN_OR_RETURN(const bool wanted, into->Wants(request, prompt));
//   if (wanted) RETURN_IF_ERROR(into->Add(TextAnswer(request, prompt, answer)));
//
// The file is a LineFile (base/line_file.h): lines are whole, and one run at a time has the file. An id has one answer. Errors are not
// added. The file may have lines of errors from a run without --into: such lines are ignored, and the requests are asked again. The file
// does not record the model and the flags of an answer. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/line_file.h"
#include "tessera/base/token.h"
#include "tessera/runtime/chat/request.h"

namespace tessera {

class AnswerFile {
 public:
  // Opens the file of --into; returns null without the flag. Errors are wrong usage where the file cannot be a file of answers.
  static absl::StatusOr<std::unique_ptr<AnswerFile>> OfFlag();

  // Opens the file, or makes a new one. InvalidArgument (file, line, found, expected) for a line that is no answer, and for a second answer
  // to an id; then nothing is cut off. Also the errors of LineFile::Open.
  static absl::StatusOr<std::unique_ptr<AnswerFile>> Open(const std::string& path);

  // Returns a line about the part of a line that was cut off; empty: nothing was cut off.
  const std::string& note() const { return note_; }
  int64_t size() const { return static_cast<int64_t>(there_.size()); }   // Answers that were there.

  // Returns whether the request needs an answer: the file had no answer to the id. InvalidArgument (request, found, expected) for an id
  // that an earlier request of this run had, and for an answer to another prompt.
  absl::StatusOr<bool> Wants(const Request& request, absl::Span<const TokenId> prompt);

  absl::Status Add(absl::string_view answer) { return file_.Append(answer); }   // A line without a break.
  absl::Status Sync() { return file_.Sync(); }

 private:
  struct There {
    int64_t line;
    size_t prompt;   // The hash of the prompt's tokens.
  };

  explicit AnswerFile(LineFile file) : file_(std::move(file)) {}
  absl::Status Read();
  absl::Status Take(absl::string_view line, int64_t number);
  // Takes the rest of the file. A whole answer counts; the prefix of an answer is cut off; all else is an error.
  absl::Status TakeRest();

  LineFile file_;
  std::string note_;
  absl::flat_hash_map<std::string, There> there_;   // By IdText.
  absl::flat_hash_set<std::string> asked_;          // The ids of this run's requests.
  int64_t lines_ = 0;
};

}  // namespace tessera
