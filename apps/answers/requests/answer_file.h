// The file of --into: answers to requests (runtime/chat/request.h) that are added to it as they come, and need no second run.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<AnswerFile> into, AnswerFile::Open("answers.jsonl"));
//   WriteError(into->note());                                   // whether a part of a line was cut off
//   ASSIGN_OR_RETURN(const bool wanted, into->Wants(request, prompt));
//   if (wanted) RETURN_IF_ERROR(into->Add(TextAnswer(request, prompt, answer)));
//
// Lines are those of base/line_file.h: whole, in a file that one run has at a time. An id has one answer. Errors are not added; lines of
// errors that the file has all the same (of a run without --into) count for nothing, and their requests are asked again. Nothing in the
// file says by which model and flags an answer came. Thread-compatible.
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
  // The file of --into, if it is given; else null. Errors are wrong usage where the file cannot be such a one.
  static absl::StatusOr<std::unique_ptr<AnswerFile>> OfFlag();

  // Makes the file if it is not there. InvalidArgument (file, line, found, expected) for a line that is no answer, and for a second answer
  // to an id; then nothing is cut off. The errors of LineFile::Open.
  static absl::StatusOr<std::unique_ptr<AnswerFile>> Open(const std::string& path);

  // What was cut off, as a line; empty: nothing.
  const std::string& note() const { return note_; }
  int64_t size() const { return static_cast<int64_t>(there_.size()); }   // Answers that were there.

  // Whether the request is to be answered: no answer to its id was there. InvalidArgument (request, found, expected) for an id that an
  // earlier request of this run had, and for an answer to another prompt.
  absl::StatusOr<bool> Wants(const Request& request, absl::Span<const TokenId> prompt);

  absl::Status Add(absl::string_view answer) { return file_.Append(answer); }   // A line without its break.
  absl::Status Sync() { return file_.Sync(); }

 private:
  struct There {
    int64_t line;
    size_t prompt;   // The hash of its tokens.
  };

  explicit AnswerFile(LineFile file) : file_(std::move(file)) {}
  absl::Status Read();
  absl::Status Take(absl::string_view line, int64_t number);
  // The rest of the file is a whole answer, the beginning of one, or an error.
  absl::Status TakeRest();

  LineFile file_;
  std::string note_;
  absl::flat_hash_map<std::string, There> there_;   // By IdText.
  absl::flat_hash_set<std::string> asked_;          // The ids of this run's requests.
  int64_t lines_ = 0;
};

}  // namespace tessera
