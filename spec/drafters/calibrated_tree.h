// Drafts what the model expected at the places where the prompt has the same tokens: the model writes the text, so the text follows the
// model's expectations more than the prompt's own words (in-context distribution calibration of sd.npu).
//
//   CalibratedTree calibrated;
//   calibrated.Begin(text);                            // "Clinton 's security detail has arrived at Des Moines" ... "Clinton"
//   calibrated.LearnPrompt(/*first=*/0, top);          // after "Clinton": has, arrived, 's; after "arrived": at, in, .
//   calibrated.Propose({.max_nodes = 15}, tree);       // has, arrived, 's, and below "arrived": at, in, .
//
// Sample: the four likeliest tokens after each token of the prompt, from logits that reading it gives. Search: each of these is looked up
// in the prompt, and what is likely after it is the second level. A token is found together with the one before it, or else alone, where it
// stands last. A node's probability is the model's own.
//
// Takes 24 bytes per token of the prompt. If a text begins as the one before did (the next turn of a conversation), what was learnt stays.
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

  // The most memory for texts of at most so many tokens, while tables grow, too.
  static int64_t MostBytes(int64_t tokens);

 private:
  // What the model said after a token of the prompt.
  struct Sample {
    uint32_t key;                                        // KeyOf the token and the one before it.
    std::array<std::array<uint8_t, 3>, kSuccessors> successors;  // Tokens, lowest byte first.
    std::array<uint16_t, kSuccessors> probabilities;     // FP16; 0 behind the last.
  };
  static_assert(sizeof(Sample) == 24);

  // The token, and 8 bits of a hash of the one before it: a wrong match, one in 256, is a bad guess at worst.
  static uint32_t KeyOf(TokenId before, TokenId token);
  static Sample Sampled(uint32_t key, const TopTokens& top);
  // The last of `token` after `before`, or else the last of `token`; null if there is none.
  const Sample* Find(TokenId before, TokenId token) const;

  std::vector<TokenId> text_;       // Until the first Commit: for LearnPrompt.
  TokenId before_root_ = 0;         // The last but one token of the text.
  std::vector<Sample> samples_;     // By token; of a token in the order of the text.
  size_t learnt_length_ = 0;        // The text up to the last sample, by its length
  uint64_t learnt_text_ = 0;        // and a hash.
};

}  // namespace tessera
