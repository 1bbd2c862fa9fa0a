// What a generated token takes longer after many others than after none: its attention to them, and nothing else.
//
//   ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths("128,4096"));
//   ASSIGN_OR_RETURN(const std::vector<TokenAttention> all, MeasureTokenAttention(*engine, depths, /*pairs=*/128));
//   RETURN_IF_ERROR(WriteOutput(TokenAttentionText(all)));
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

struct TokenAttention {
  int depth = 0;                     // Tokens in the cache before.
  double seconds = 0;                // Of a token's pass: median.
  double attention_seconds = 0;      // Of it minus that of the pass beside it with none before: median; below 0: noise,
  double lower = 0, upper = 0;       // and its quartiles.
};

// Numbers of tokens in ascending order, separated by commas; or "default", which goes to 8192. InvalidArgument (--token_attention).
absl::StatusOr<std::vector<int>> ParseDepths(const std::string& list);

// In the order of `depths`. ResourceExhausted if the engine's context has no place for the last and one more, or memory none for two
// sessions. REQUIRES: depths as ParseDepths gives them; pairs >= 1.
absl::StatusOr<std::vector<TokenAttention>> MeasureTokenAttention(Engine& engine, const std::vector<int>& depths, int pairs);

std::string TokenAttentionText(const std::vector<TokenAttention>& all);
// [{"depth", "seconds", "attention_seconds", "lower", "upper"}]
void WriteTokenAttention(JsonWriter& json, const std::vector<TokenAttention>& all);

}  // namespace tessera
