// From --speculate to what drafts a text, and what came of it.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<Speculator> speculator, SpeculatorOfFlags(*engine));     // null: --speculate=none
//   SpeculationFigures figures;
//   figures.Add(generation);
//   line += SpeculationLine(figures);                   // "2.41 tokens a pass of 5.2 rows"
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/decode_loop.h"
#include "tessera/runtime/engine.h"
#include "tessera/spec/speculator.h"

namespace tessera {

// Checks the flags; memory plans then count what drafting takes.
absl::Status ReadSpeculationFlags(EngineOptions& options);

// For one stream of texts; a speculator begins anew with each. REQUIRES: ReadSpeculationFlags was OK.
absl::StatusOr<std::unique_ptr<Speculator>> SpeculatorOfFlags(const Engine& engine);

// Of any number of texts.
struct SpeculationFigures {
  int64_t tokens = 0;   // That passes gave: all but the first of each text, which the prompt gave.
  int64_t passes = 0;
  int64_t rows = 0;
  void Add(const Generation& generation);
};

std::string SpeculationLine(const SpeculationFigures& figures);

// {"tokens", "passes", "rows", "tokens_per_pass"}
void WriteSpeculation(JsonWriter& json, const SpeculationFigures& figures);

}  // namespace tessera
