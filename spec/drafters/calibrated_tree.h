// Drafts the tokens that the model expected at places where the prompt has the same tokens. The model writes the sequence, so the sequence
// follows the model's expectations more than the prompt's own words (in-context distribution calibration of sd.npu).
//
//   CalibratedTree calibrated;
//   calibrated.Begin(text);                            // "Clinton 's security detail has arrived at Des Moines" ... "Clinton"
//   calibrated.LearnPrompt(/*first=*/0, top);          // after "Clinton": has, arrived, 's; after "arrived": at, in, .
//   calibrated.Propose({.max_nodes = 15}, tree);       // has, arrived, 's, and below "arrived": at, in, .
//
// Sample: the four likeliest tokens after each token of the prompt, from logits that prefill computes. Search: each of the four is looked
// up in the prompt, and the likely tokens after that place are the second level. A token is found together with the token before, at the
// last such place. Otherwise the token alone is found, at its last place. A node's probability is the model's own.
//
// Takes 24 bytes per token of the prompt. If a sequence begins as the one before did (the next turn of a conversation), the learnt samples
// stay.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class CalibratedTree : public Drafter {
 public:
  static constexpr int kSuccessors = 4, kDepth = 2;

  absl::string_view name() const override { return "calibrated"; }
  DrafterNeeds needs() const override { return {.top_of_prompt = kSuccessors}; }
  void Begin(absl::Span<const TokenId> text) override;
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // The most memory for sequences of at most `tokens` tokens, also while tables grow.
  static int64_t MostBytes(int64_t tokens);

 private:
  // The model's likeliest tokens after a token of the prompt.
  struct Sample {
    uint32_t key;                                        // KeyOf the token and the token before.
    std::array<std::array<uint8_t, 3>, kSuccessors> successors;  // Tokens, lowest byte first.
    std::array<uint16_t, kSuccessors> probabilities;     // FP16; 0 after the last.
  };
  static_assert(sizeof(Sample) == 24);

  // The token, and 8 bits of a hash of the token before. A wrong match, one in 256, is a bad guess at worst.
  static uint32_t KeyOf(TokenId before, TokenId token);
  static Sample Sampled(uint32_t key, const TopTokens& top);
  // Returns the last sample of `token` after `before`, or else the last sample of `token`; null if there is none.
  const Sample* Find(TokenId before, TokenId token) const;

  std::vector<TokenId> text_;       // Until the first Commit: for LearnPrompt.
  TokenId before_root_ = 0;         // The last but one token of the sequence.
  std::vector<Sample> samples_;     // Sorted by token; samples of one token in the order of the text.
  size_t learnt_length_ = 0;        // The text up to the last sample: length
  uint64_t learnt_text_ = 0;        // and hash.
};

}  // namespace tessera
