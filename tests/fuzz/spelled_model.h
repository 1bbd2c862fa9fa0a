// A language model that a fuzz input spells out, small enough to be stepped by hand.
//
//   const SpelledModel model(bytes);                                           // takes what it needs from a FuzzBytes
//   std::vector<TokenId> text = model.Prompt(bytes, /*most=*/20);
//   text.push_back(model.Next(text).token);                                    // plain decoding
//
// The next token follows from the last two tokens and, if the input says so, now and then from the text's length. So texts repeat for a
// while, as drafters need, and then change. Thread-compatible.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "tessera/spec/trees/verify.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"

namespace tessera {

class SpelledModel {
 public:
  explicit SpelledModel(FuzzBytes& bytes)
      : vocabulary_(2 + bytes.Below(15)), ends_(bytes.Below(4) == 3), steady_(kSteady[bytes.Below(4)]) {
    for (int left = 1 + bytes.Below(24); left > 0; --left) opinions_.push_back(bytes.Below(256));
  }

  int vocabulary() const { return vocabulary_; }

  // REQUIRES: `text` is not empty.
  std::vector<float> LogitsAfter(absl::Span<const TokenId> text) const {
    const size_t last = text.back(), before = text.size() > 1 ? text[text.size() - 2] : 0;
    const int opinion = opinions_[(before * vocabulary_ + last + text.size() / steady_) % opinions_.size()];
    std::vector<float> logits(vocabulary_);
    for (int rank = 0; rank < vocabulary_; ++rank) {
      logits[(opinion + rank) % vocabulary_] = -kSurety[opinion / 64] * static_cast<float>(rank);
    }
    return logits;
  }

  // If logits are equal, the lowest token wins.
  Choice Choose(absl::Span<const float> logits) const {
    const auto token = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    return {token, ends_ && token == vocabulary_ - 1};
  }
  Choice Next(absl::Span<const TokenId> text) const { return Choose(LogitsAfter(text)); }

  // Returns at least one token: spelled, or the model's output after the first.
  std::vector<TokenId> Prompt(FuzzBytes& bytes, int most) const {
    const int tokens = 1 + bytes.Below(most);
    const bool spelled = bytes.Below(2) == 1;
    std::vector<TokenId> prompt = {bytes.Below(vocabulary_)};
    while (static_cast<int>(prompt.size()) < tokens) prompt.push_back(spelled ? bytes.Below(vocabulary_) : Next(prompt).token);
    return prompt;
  }

 private:
  static constexpr size_t kSteady[] = {1 << 20, 24, 8, 3};         // The text's length counts in steps of this number of tokens.
  static constexpr float kSurety[] = {2.0f, 0.3f, 60.0f, 0.0f};    // Between one rank and the next.

  const int vocabulary_;
  const bool ends_;                 // The last token of the vocabulary ends a text.
  const size_t steady_;
  std::vector<int> opinions_;
};

}  // namespace tessera
