// Turns --speculate, --history, --history_prompts and --cost_profile into a speculator, and reports what came of it.
//
//   RETURN_IF_ERROR(ReadSpeculationFlags(options));                  // before the engine is opened: memory plans count it
//   ASSIGN_OR_RETURN(const std::unique_ptr<Speculation> speculation, Speculation::FromFlags(*engine));   // null: of no use
//   GenerateOptions generate = {.speculator = &speculation->speculator(), .measure_seconds = speculation->measure_seconds()};
//   speculation->Finish(prompt, generation);                         // a history remembers it
//   RETURN_IF_ERROR(speculation->Save());
//   line += SpeculationLine(speculation->report());                  // "2.41 tokens ...", see below
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/decode_loop.h"
#include "tessera/runtime/engine.h"
#include "tessera/spec/cost_profile.h"
#include "tessera/spec/history_store.h"
#include "tessera/spec/speculator.h"

namespace tessera {

// Checks the flags, and makes memory plans include what they ask for. InvalidArgument (flag, found, expected).
absl::Status ReadSpeculationFlags(EngineOptions& options);

// Makes memory plans include drafters, the logits of what they draft, and a history of so many bytes. REQUIRES: DrafterRegistry knows the
// list.
void PlanDrafting(const std::string& drafters, int64_t history_bytes, EngineOptions& options);

// The speculation of one stream of texts, each of which begins anew. With --speculate=none and a --history nothing is drafted: answers are
// only kept.
class Speculation {
 public:
  // REQUIRES: ReadSpeculationFlags was OK. Errors are those of the files of --history and --cost_profile.
  static absl::StatusOr<std::unique_ptr<Speculation>> FromFlags(const Engine& engine);

  Speculator& speculator() { return *speculator_; }
  double measure_seconds() const;   // See GenerateOptions.
  SpeculationReport report() const { return speculator_->report(); }

  // Adds an answer to the history, unless it was cancelled. A text that failed has no Generation, and needs no Finish.
  void Finish(absl::Span<const TokenId> prompt, const Generation& generation);
  // Writes the history, and a cost profile that did not exist before.
  absl::Status Save() const;

 private:
  Speculation() = default;
  absl::Status OpenHistory(const Engine& engine);
  absl::Status ReadCosts();

  std::shared_ptr<HistoryStore> history_;          // Null: none.
  std::string costs_path_;                         // To be written in the end; empty: no.
  CostProfile costs_;
  std::unique_ptr<Speculator> speculator_;
};

// "2.41 tokens a pass of 5.2 rows, 1.62 times as fast as plain passes (foreseen: 1.70); learnt from ...; lookup: paused ...", or
// "nothing drafted".
std::string SpeculationLine(const SpeculationReport& report);

// {"passes", "tokens", "rows", "tokens_per_pass", "gain", "predicted_gain", "predicted_tokens", "seconds", "predicted_seconds",
// "head_rows", "prompt_tokens", "prompt_tokens_learnt_from", "paused_passes", "pauses", "drafters": [{"name", ...}]}
void WriteSpeculation(JsonWriter& json, const SpeculationReport& report);

}  // namespace tessera
