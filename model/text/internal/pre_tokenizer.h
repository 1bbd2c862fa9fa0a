// Cuts text into the words inside which byte pair encoding merges, the way a model's training did.
//
//   ASSIGN_OR_RETURN(const PreTokenizer cutter, PreTokenizer::ByName("gpt-2"));
//   std::vector<absl::string_view> words;
//   cutter.Split("Hello world", &words);     // "Hello", " world"
//
// The rule is chosen by name (word_rules.h) and never read from the file. The words make up the text; bytes that are not UTF-8 are words of
// their own. Any text is cut in O(n) for n bytes. Errors: InvalidArgument with the names that are known. Thread-safe.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/internal/word_rules.h"

namespace tessera {

class PreTokenizer {
 public:
  static absl::StatusOr<PreTokenizer> ByName(absl::string_view name);

  // Appends views into `text`, which is normalized already if rule().normalizes.
  void Split(absl::string_view text, std::vector<absl::string_view>* words) const;

  const WordRule& rule() const { return *rule_; }

 private:
  explicit PreTokenizer(const WordRule* rule) : rule_(rule) {}
  void SplitValid(absl::string_view text, std::vector<absl::string_view>* words) const;

  const WordRule* rule_;
};

}  // namespace tessera
