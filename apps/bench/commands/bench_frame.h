// The shared parts of tessera_bench's subcommands: checks of flags, the engine's options, and the heading of a result.
//
//   RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 1));
//   ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(/*context=*/640));
//   ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, FLAGS_depth));
//   return ShowResult(heading, AttentionText(all), [&](JsonWriter& json) { WriteAttention(json.Key("attention"), all); });
//
// Errors are wrong usage and name the flag. Times of commands with --device are by a modeled phone's clock, and headings say so. Threads:
// one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/timeline.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Returns ModelFlags() without the flags of `left_out`. REQUIRES: all of `left_out` are model flags.
FlagGroup ModelFlagsBut(const std::vector<std::string>& left_out);

absl::Status CheckTokens(const char* flag, int value, int least);  // The range is `least` to 2^20.
absl::Status CheckRepetitions();
absl::Status CheckRingShare();   // Checks --ring_share, and that neither --memory_budget nor --pin is given with --ring_share.

// Returns EngineOptionsOfFlags() with `context`, unless --context sets the context; 0: the engine decides.
absl::StatusOr<EngineOptions> OptionsForContext(int context, Timeline* timeline = nullptr, bool own_budgets = false);

struct BenchHeading {
  std::string model;
  int threads = 0;
  std::string kernels = {};          // "reference" on the reference path, "npu avx2" on the npu path.
  std::optional<int> repetitions;    // nullopt: the measurement has no repetitions.
  std::optional<int> depth;          // Tokens before; nullopt likewise.
  std::string device = {};           // --device. Empty: this machine.

  static absl::StatusOr<BenchHeading> Of(const EngineOptions& options, std::optional<int> repetitions, std::optional<int> depth);
  std::string Text() const;          // Returns a line, and an empty line.
};

// Writes the heading and `text` or, with --json, an object of the heading and the members that `put` adds.
absl::Status ShowResult(const BenchHeading& heading, const std::string& text, absl::FunctionRef<void(JsonWriter& json)> put);

}  // namespace tessera
