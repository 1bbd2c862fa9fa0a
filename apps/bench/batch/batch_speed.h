// Speed of many sequences at once, and the effect on each: tokens per second, gaps between tokens, first tokens, memory.
//
//   BatchSpeedOptions asked = {.together = {1, 8}, .writers = 8, .generate_tokens = 128, .long_prompt = 4000, .repetitions = 5};
//   ASSIGN_OR_RETURN(const BatchSpeed speed, MeasureBatch(*engine, asked));
//   RETURN_IF_ERROR(WriteOutput(BatchSpeedText(speed)));             // batch_speed_text.h
//
// All measurements that are compared take turns, once per repetition, after one repetition that is not counted. Rates count only passes
// that decode all sequences and read no part of a prompt. Prompts are random tokens, except the prompts of `categories`, which are decoded
// with and without drafts. Threads: the engine's, one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/spec/tokenized_categories.h"
#include "tessera/base/spread.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct BatchSpeedOptions {
  std::vector<int> together = {};     // Numbers of sequences; ascending.
  int writers = 8;                    // Sequences that are decoded while prompts arrive, or with drafts.
  int generate_tokens = 128;          // Per sequence.
  int depth = 0;                      // Tokens of a sequence before the generated tokens; at least one.
  int prompt_tokens = 512;            // The prompt whose first token is awaited,
  int long_prompt = 4000;             // and the long prompt that is read during decoding; 0: none.
  int repetitions = 1;
  std::string speculate = "none";     // A list for DrafterRegistry::Make. For "none" there are no categories.
  std::vector<TokenizedCategory> categories = {};

  // Needs of the whole measurement, if prompts of categories have at most 1,024 tokens: positions of a sequence, and of all sequences.
  int NeededContext() const;
  int NeededTokens() const;
  int MostTexts() const;
};

struct BatchSpeed {
  struct Together {
    int texts = 0;
    Spread tokens_per_second = {};    // All sequences together.
    double step_seconds = 0;          // Medians.
    double pass_seconds = 0;          // A pass of `texts` rows of one sequence, each with logits.
  };
  struct Category {
    std::string name = {};
    int texts = 0, prompts = 0, left_out = 0;
    double plain = 0, drafted = 0;    // Tokens per second; medians, like all numbers here.
    double gain = 0;                  // Within a repetition.
    double tokens_per_pass = 0;       // Tokens per pass of one sequence, with drafts.
  };
  struct Gaps {                       // Gaps between the tokens of a sequence, over all repetitions and sequences. Seconds.
    int texts = 0;
    int prompt_tokens = 0;            // In the prompt that is read at the same time; 0: none.
    int64_t gaps = 0;
    double median = 0, high = 0, longest = 0;   // high: 95 of 100 are shorter.
    double prompt_seconds = 0;        // From the prompt's arrival to the first token after the prompt, and
    double prompt_passes = 0;         // passes until that token; 0: a sequence always ended before that token.
  };
  struct FirstToken {
    int texts = 0;                    // Sequences that are decoded at the same time.
    int prompt_tokens = 0;
    double seconds = 0;
  };

  std::vector<Together> together = {};
  std::vector<Category> categories = {};
  std::vector<Gaps> gaps = {};
  std::vector<FirstToken> first_tokens = {};
  EngineMemory memory = {};
  int cache_tokens = 0;
  std::optional<int64_t> peak_memory = {};   // Peak of the process; nullopt: not known.
};

// Measures by `options`. WrongUsage (together) if the maximum rows of a pass are fewer; else the errors of WriteTogether.
absl::StatusOr<BatchSpeed> MeasureBatch(Engine& engine, const BatchSpeedOptions& options);

}  // namespace tessera
