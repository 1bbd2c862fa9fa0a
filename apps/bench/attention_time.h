// What a pass takes longer after many tokens than after none: its attention to them, and nothing else. Of one row, and of a prompt's.
//
//   ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths("128,4096"));
//   ASSIGN_OR_RETURN(const std::vector<AttentionTime> all,
//                    MeasureAttention(*engine, depths, {.token_pairs = 128, .prompt_pairs = 5, .prompt_tokens = 512}));
//   RETURN_IF_ERROR(WriteOutput(AttentionText(all)));
//
// Next to a pass that reads all weights, attention to few tokens is less than what the machine's speed changes by within a second. So
// two sessions take turns, one empty and one with the tokens before, and the median is of the differences within pairs. Threads: the
// engine's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine.h"

namespace tessera {

struct AttentionPairs {
  int token_pairs = 0;               // Of passes of one row,
  int prompt_pairs = 0;              // and of prompt_tokens.
  int prompt_tokens = 0;             // 0 or 1: only those of one row.
};

struct AttentionTime {
  int rows = 0;                      // Of the pass.
  int depth = 0;                     // Tokens in the cache before.
  double seconds = 0;                // Of the pass: median.
  double attention_seconds = 0;      // Of it minus that of the pass beside it with none before: median; below 0: noise,
  double lower = 0, upper = 0;       // and its quartiles.
};

// Numbers of tokens in ascending order, separated by commas; or "default", which goes to 8192. InvalidArgument (--attention).
absl::StatusOr<std::vector<int>> ParseDepths(const std::string& list);

// One row after each of `depths`, in their order, then prompts. ResourceExhausted if the engine's context has no place for a pass
// after the last, or memory none for two sessions. REQUIRES: depths as ParseDepths gives them; as many pairs as passes, at least 1.
absl::StatusOr<std::vector<AttentionTime>> MeasureAttention(Engine& engine, const std::vector<int>& depths, const AttentionPairs& pairs);

std::string AttentionText(const std::vector<AttentionTime>& all);
// [{"rows", "depth", "seconds", "attention_seconds", "lower", "upper"}]
void WriteAttention(JsonWriter& json, const std::vector<AttentionTime>& all);

}  // namespace tessera
