// Compares two modes of generating the same sequences, token for token and logit for logit. Each mode runs in a process of its own.
//
//   const auto plain = [&](TextSender& sender) { return WriteTexts(options, prompts, sender); };      // see TextSender
//   ASSIGN_OR_RETURN(const Comparison comparison, CompareTexts(plain, speculative));
//   if (comparison.difference.has_value()) WriteOutput(DifferenceLine(*comparison.difference));
//
// CompareTexts compares all logits from which each token was chosen, as bits. Both processes run at the same time. The first difference
// ends both. Threads: see ForkedRun.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/bench/compare/forked_run.h"
#include "tessera/runtime/scheduler/decode_loop.h"

namespace tessera {

// Reports the sequences of one mode, token by token.
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
  int64_t token = 0;                 // Token of the sequence, from 0 on.
  std::optional<TokenId> a, b;       // None: that mode's sequence has ended.
  std::string reason_a, reason_b;    // How the sequence ended, if at all (FinishReasonName).
  int64_t logits_different = 0;      // Number of logits that differ,
  int64_t logits = 0;                // and number of logits; 0 if one sequence has ended.
  TokenId widest = 0;                // The logit that differs most, if any differs, and both values.
  float widest_a = 0, widest_b = 0;
};

struct TextFigures {
  int64_t passes = 0, rows = 0;
};

struct Comparison {
  int64_t prompts = 0, tokens = 0;   // Numbers of equal prompts and tokens.
  TextFigures a, b;                  // Figures of these prompts.
  std::optional<TextDifference> difference;
};

using TextProducer = std::function<absl::Status(TextSender& sender)>;

// Compares the sequences of `a` and `b`. Returns the first error of either mode, with the mode's name: "a: --threads: found ..." for wrong
// usage, or "... (--a)".
absl::StatusOr<Comparison> CompareTexts(const TextProducer& a, const TextProducer& b);

// "prompt 3, token 17: a chose 504, b chose 28; 49152 of 49152 logits differ, most that of token 28: 1.25 and 1.5"
std::string DifferenceLine(const TextDifference& difference);

}  // namespace tessera
