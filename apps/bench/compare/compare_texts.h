// Compares two ways to write the same texts, token for token and logit for logit, each in a process of its own.
//
//   const auto plain = [&](TextSender& sender) { return WriteTexts(options, prompts, sender); };      // see TextSender
//   ASSIGN_OR_RETURN(const Comparison comparison, CompareTexts(plain, speculative));
//   if (comparison.difference.has_value()) WriteOutput(DifferenceLine(*comparison.difference));
//
// It compares all logits from which each token was chosen, as bits. Both write at once; the first difference ends them. Threads: as
// ForkedRun.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/bench/compare/forked_run.h"
#include "tessera/runtime/scheduler/decode_loop.h"

namespace tessera {

// By this a writer reports its texts.
class TextSender {
 public:
  explicit TextSender(MessageSender& sender) : sender_(sender) {}
  absl::Status Token(TokenId token, absl::Span<const float> logits);
  absl::Status EndOfText(const Generation& generation);

 private:
  MessageSender& sender_;
};

struct TextDifference {
  int64_t prompt = 0;                // From 0 on.
  int64_t token = 0;                 // Token of the text, from 0 on.
  std::optional<TokenId> a, b;       // None: that text has ended.
  std::string reason_a, reason_b;    // How the text ended, if it has (FinishReasonName).
  int64_t logits_different = 0;      // How many logits differ,
  int64_t logits = 0;                // and how many there are; 0 if one text has ended.
  TokenId widest = 0;                // The logit that differs most, if one does, and its values.
  float widest_a = 0, widest_b = 0;
};

struct TextFigures {
  int64_t passes = 0, rows = 0;
};

struct Comparison {
  int64_t prompts = 0, tokens = 0;   // How many were equal.
  TextFigures a, b;                  // Figures of these prompts.
  std::optional<TextDifference> difference;
};

using TextProducer = std::function<absl::Status(TextSender& sender)>;

// The first error of either, and which way it was: "a: --threads: found ...", which is wrong usage, or "... (--a)".
absl::StatusOr<Comparison> CompareTexts(const TextProducer& a, const TextProducer& b);

// "prompt 3, token 17: a chose 504, b chose 28; 49152 of 49152 logits differ, most that of token 28: 1.25 and 1.5"
std::string DifferenceLine(const TextDifference& difference);

}  // namespace tessera
