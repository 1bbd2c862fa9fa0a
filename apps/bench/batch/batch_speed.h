// How fast many texts are written at once, and what that does to each: tokens per second, gaps between tokens, first tokens, memory.
//
//   BatchSpeedOptions asked = {.together = {1, 8}, .writers = 8, .generate_tokens = 128, .long_prompt = 4000, .repetitions = 5};
//   ASSIGN_OR_RETURN(const BatchSpeed speed, MeasureBatch(*engine, asked));
//   RETURN_IF_ERROR(WriteOutput(BatchSpeedText(speed)));             // batch_speed_text.h
//
// All that is compared is measured by turns, once per repetition, after one that is not counted. Rates are of passes without any part of a
// prompt, in which all texts are written. Prompts are random tokens, but for those of `categories`, which are written with and without
// drafts. Threads: the engine's, one call at a time.
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
  std::vector<int> together = {};     // Numbers of texts; ascending.
  int writers = 8;                    // Texts written while others come, or with drafts.
  int generate_tokens = 128;          // Per text.
  int depth = 0;                      // Tokens of a text before those; at least one.
  int prompt_tokens = 512;            // The prompt whose first token is awaited,
  int long_prompt = 4000;             // and that which is read beside; 0: none.
  int repetitions = 1;
  std::string speculate = "none";     // As DrafterRegistry::Make takes it. For "none" there are no categories.
  std::vector<TokenizedCategory> categories = {};

  // For all of this, if prompts of categories have 1,024 tokens at most: positions of a text, and of all together.
  int NeededContext() const;
  int NeededTokens() const;
  int MostTexts() const;
};

struct BatchSpeed {
  struct Together {
    int texts = 0;
    Spread tokens_per_second = {};    // All texts together.
    double step_seconds = 0;          // Medians.
    double pass_seconds = 0;          // A pass of so many rows of one text, each with logits.
  };
  struct Category {
    std::string name = {};
    int texts = 0, prompts = 0, left_out = 0;
    double plain = 0, drafted = 0;    // Tokens per second; medians, as all here.
    double gain = 0;                  // Within a repetition.
    double tokens_per_pass = 0;       // A text's, with drafts.
  };
  struct Gaps {                       // Between the tokens of a text, all repetitions and texts together. Seconds.
    int texts = 0;
    int prompt_tokens = 0;            // In the prompt that is read meanwhile; 0: none.
    int64_t gaps = 0;
    double median = 0, high = 0, longest = 0;   // high: 95 of 100 are shorter.
    double prompt_seconds = 0;        // From when the prompt comes to its first token, and
    double prompt_passes = 0;         // passes until then; 0: always a text ended before.
  };
  struct FirstToken {
    int texts = 0;                    // That are written meanwhile.
    int prompt_tokens = 0;
    double seconds = 0;
  };

  std::vector<Together> together = {};
  std::vector<Category> categories = {};
  std::vector<Gaps> gaps = {};
  std::vector<FirstToken> first_tokens = {};
  EngineMemory memory = {};
  int cache_tokens = 0;
  std::optional<int64_t> peak_memory = {};   // The process's; nullopt: not known.
};

// WrongUsage (together) if a pass of the model has fewer rows; the errors of WriteTogether.
absl::StatusOr<BatchSpeed> MeasureBatch(Engine& engine, const BatchSpeedOptions& options);

}  // namespace tessera
