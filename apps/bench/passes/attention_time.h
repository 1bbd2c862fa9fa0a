// Times attention: the extra time that a pass takes after many tokens, compared with a pass after none. Attention to the earlier tokens is
// the only difference. Passes of one row and passes of a prompt are timed.
//
//   ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths("128,4096"));
//   ASSIGN_OR_RETURN(const std::vector<AttentionTime> all,
//                    MeasureAttention(*engine, depths, {.token_pairs = 128, .prompt_pairs = 5, .prompt_tokens = 512}));
//   RETURN_IF_ERROR(WriteOutput(AttentionText(all)));
//
// Compared with a pass that reads all weights, attention to few tokens takes less than the machine's speed changes within a second. So two
// sessions take turns, one empty and one with earlier tokens in the cache. The median is the median of the differences within pairs.
// Threads: the engine's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct AttentionPairs {
  int token_pairs = 0;               // Pairs of passes of one row,
  int prompt_pairs = 0;              // and of passes of prompt_tokens.
  int prompt_tokens = 0;             // 0 or 1: only passes of one row.
};

struct AttentionTime {
  int rows = 0;                      // Rows of the pass.
  int depth = 0;                     // Tokens in the cache before the pass.
  double seconds = 0;                // Time of the pass, median.
  double attention_seconds = 0;      // The pass's time less the time of the pass with an empty cache, median of the pairs; below 0: noise.
  double lower = 0, upper = 0;       // Quartiles of attention_seconds.
};

// Parses numbers of tokens in ascending order, separated by commas; or "default", which goes to 8192. InvalidArgument (--depths).
absl::StatusOr<std::vector<int>> ParseDepths(const std::string& list);

// Measures passes of one row after each of `depths`, in the given order, then passes of prompts. ResourceExhausted if the engine's context
// has no place for a pass after the last depth, or if memory has no room for two sessions. REQUIRES: depths as ParseDepths gives them; as
// many pairs as passes, at least 1.
absl::StatusOr<std::vector<AttentionTime>> MeasureAttention(Engine& engine, const std::vector<int>& depths, const AttentionPairs& pairs);

std::string AttentionText(const std::vector<AttentionTime>& all);
// Writes [{"rows", "depth", "seconds", "attention_seconds", "lower", "upper"}].
void WriteAttention(JsonWriter& json, const std::vector<AttentionTime>& all);

}  // namespace tessera
