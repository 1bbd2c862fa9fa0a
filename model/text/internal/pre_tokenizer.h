// Cuts text into the words inside which byte pair encoding merges, the way a model's training did.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<PreTokenizer> cutter, PreTokenizer::ByName("gpt-2"));
//   std::vector<absl::string_view> words;
//   cutter->Split("Hello world", &words);     // "Hello", " world"
//
// The rule is chosen by name and never read from the file. The words make up the text; bytes that are not UTF-8 are words of their
// own. Errors: InvalidArgument with the names that are known. Thread-safe: nothing changes after ByName.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

class PreTokenizer {
 public:
  static absl::StatusOr<std::unique_ptr<PreTokenizer>> ByName(absl::string_view name);
  ~PreTokenizer();
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  // Appends views into `text`.
  void Split(absl::string_view text, std::vector<absl::string_view>* words) const;

  // A word that is in the vocabulary is one token, whatever the merges would make of it.
  bool keeps_known_words() const { return keeps_known_words_; }
  bool adds_bos_by_default() const { return adds_bos_by_default_; }

 private:
  class Pattern;
  PreTokenizer();
  void SplitValid(absl::string_view text, std::vector<absl::string_view>* words) const;

  std::vector<std::unique_ptr<Pattern>> patterns_;  // Each cuts the pieces that the one before has left.
  bool keeps_known_words_ = false;
  bool adds_bos_by_default_ = false;
};

}  // namespace tessera
