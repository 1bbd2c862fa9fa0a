// Cuts text into words as in a model's training. Byte pair encoding merges inside these words.
//
//   ASSIGN_OR_RETURN(const PreTokenizer cutter, PreTokenizer::ByName("gpt-2"));
//   std::vector<absl::string_view> words;
//   cutter.Split("Hello world", &words);     // "Hello", " world"
//
// A name selects the rule (word_rules.h); the file never defines a rule. The words together are the text; bytes that are not UTF-8 are
// separate words. Any text is cut in O(n) for n bytes. Errors: InvalidArgument with the known names. Thread-safe.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/internal/word_rules.h"

namespace tessera {

class PreTokenizer {
 public:
  static absl::StatusOr<PreTokenizer> ByName(absl::string_view name);

  // Appends views into `text`. If rule().normalizes, `text` must be normalized already.
  void Split(absl::string_view text, std::vector<absl::string_view>* words) const;

  const WordRule& rule() const { return *rule_; }

 private:
  explicit PreTokenizer(const WordRule* rule) : rule_(rule) {}
  void SplitValid(absl::string_view text, std::vector<absl::string_view>* words) const;

  const WordRule* rule_;
};

}  // namespace tessera
