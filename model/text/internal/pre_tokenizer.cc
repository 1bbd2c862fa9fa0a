#include "tessera/model/text/internal/pre_tokenizer.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/model/text/internal/utf8.h"

namespace tessera {

absl::StatusOr<PreTokenizer> PreTokenizer::ByName(absl::string_view name) {
  const WordRule* const rule = FindWordRule(name);
  if (rule != nullptr) return PreTokenizer(rule);
  return absl::InvalidArgumentError(absl::StrCat("found ", Quoted(name), ", expected one of ", WordRuleNames()));
}

void PreTokenizer::Split(absl::string_view text, std::vector<absl::string_view>* words) const {
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    if (valid > 0) SplitValid(text.substr(0, valid), words);
    text.remove_prefix(valid);
    if (text.empty()) return;
    const size_t invalid = ReadUtf8(text).size;
    words->push_back(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

void PreTokenizer::SplitValid(absl::string_view text, std::vector<absl::string_view>* words) const {
  if (rule_->cuts.size() == 1) return rule_->cuts[0](text, words);
  std::vector<absl::string_view> parts = {text}, smaller;
  for (CutWords* const cut : rule_->cuts) {
    smaller.clear();
    for (absl::string_view part : parts) cut(part, &smaller);
    std::swap(parts, smaller);
  }
  words->insert(words->end(), parts.begin(), parts.end());
}

}  // namespace tessera
