#include "tessera/apps/common/speculation.h"

#include "absl/strings/str_format.h"
#include "tessera/apps/common/app_main.h"
#include "tessera/apps/common/flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/drafter_registry.h"

namespace tessera {
namespace {

double Mean(int64_t sum, int64_t count) { return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0; }

}  // namespace

absl::Status ReadSpeculationFlags(EngineOptions& options) {
  const absl::StatusOr<std::vector<std::string>> drafters = ParseDrafterList(FLAGS_speculate);
  RETURN_IF_ERROR(ForFlag("speculate", drafters.status()));
  if (drafters->empty()) return absl::OkStatus();
  options.logit_rows += Speculator::Options().max_rows;
  options.drafting_bytes = [list = FLAGS_speculate](int context, int vocabulary) {
    return DraftingBytes(list, {.context = context, .vocabulary = vocabulary}).value();
  };
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Speculator>> SpeculatorOfFlags(const Engine& engine) {
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters,
                   MakeDrafters(FLAGS_speculate, {.context = engine.context(), .vocabulary = engine.config().vocabulary}));
  if (drafters.empty()) return nullptr;
  return std::make_unique<Speculator>(std::move(drafters[0]), Speculator::Options());
}

void SpeculationFigures::Add(const Generation& generation) {
  if (generation.tokens.empty()) return;
  tokens += static_cast<int64_t>(generation.tokens.size()) - 1;
  passes += generation.passes;
  rows += generation.rows;
}

std::string SpeculationLine(const SpeculationFigures& figures) {
  return absl::StrFormat("%.2f tokens a pass of %.1f rows", Mean(figures.tokens, figures.passes), Mean(figures.rows, figures.passes));
}

void WriteSpeculation(JsonWriter& json, const SpeculationFigures& figures) {
  json.BeginObject().Key("tokens").Int(figures.tokens).Key("passes").Int(figures.passes).Key("rows").Int(figures.rows);
  json.Key("tokens_per_pass").Double(Mean(figures.tokens, figures.passes), 6).EndObject();
}

}  // namespace tessera
