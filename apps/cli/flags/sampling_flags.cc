#include "tessera/apps/cli/flags/sampling_flags.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/model_sampling.h"

namespace tessera {
namespace {

constexpr char kOfFlag[] = "flag", kOfBeam[] = "beam", kSet[] = "set", kPenalty[] = "repetition_penalty";

// Returns all options except the seed.
SamplingOptions SamplingOfFlags() {
  return {.temperature = static_cast<float>(FLAGS_temperature),
          .top_k = FLAGS_top_k,
          .top_p = static_cast<float>(FLAGS_top_p),
          .min_p = static_cast<float>(FLAGS_min_p),
          .repetition_penalty = static_cast<float>(FLAGS_repetition_penalty),
          .penalty_window = FLAGS_penalty_window};
}

// Returns the model's values, except values that --beam rules out.
ModelSampling SamplingOf(const GgufFile& file) {
  ModelSampling model = SamplingOfModel(file);
  if (FLAGS_beam.empty() || model.options.repetition_penalty == 1) return model;
  model.options.repetition_penalty = 1;
  model.origins[kPenalty] = kOfBeam;
  return model;
}

void TellOfPenaltyLeftOut(const GgufFile& file) {
  const ModelSampling model = SamplingOfModel(file);
  const std::string line = absl::StrCat("repetition_penalty ", model.options.repetition_penalty, " (", model.OriginOf(kPenalty),
                                        ") is left out beside --beam: a step is drawn without the steps before it\n");
  if (IsSaidFirst(line)) WriteMessage(line);
}

// How one field is chosen.
struct Setting {
  std::string flag, value;
  std::string from;   // "set", "flag", "beam", an origin of ModelSampling, or empty: the usual value.
  bool changes;       // The value is not the usual one.
};

// Puts the values into `sampling`, which holds the flags' values. Each field is the flag's if the flag is given, else the model's. A
// differing value of `used`, unless null, replaces the field.
std::vector<Setting> SetFields(const ModelSampling& model, SamplingOptions& sampling, const SamplingOptions* used = nullptr) {
  const SamplingOptions usual;
  std::vector<Setting> settings;
  const auto set = [&](const char* flag, auto SamplingOptions::*field) {
    const bool given = IsGiven(flag);
    if (!given) sampling.*field = model.options.*field;
    std::string from = given ? kOfFlag : model.OriginOf(flag);
    if (used != nullptr && used->*field != sampling.*field) {
      sampling.*field = used->*field;
      from = kSet;
    }
    settings.push_back({flag, absl::StrCat(sampling.*field), std::move(from), sampling.*field != usual.*field});
  };
  set("temperature", &SamplingOptions::temperature);
  set("top_k", &SamplingOptions::top_k);
  set("top_p", &SamplingOptions::top_p);
  set("min_p", &SamplingOptions::min_p);
  set(kPenalty, &SamplingOptions::repetition_penalty);
  set("penalty_window", &SamplingOptions::penalty_window);
  return settings;
}

// The effect of a value, given the other values.
struct Effect {
  std::string flag;
  bool counts;         // Another value might choose another token.
  bool agrees;         // The value is off, or has the effect of the deciding value.
  const char* decides;
};

// Returns the effects in the order of SetFields.
std::vector<Effect> EffectsOf(const SamplingOptions& sampling) {
  const bool greedy = sampling.temperature == 0, one = sampling.top_k == 1;
  const char* const likeliest = greedy ? "temperature 0" : "top_k 1";
  return {{"temperature", !one, greedy, "top_k 1"},
          {"top_k", !greedy, sampling.top_k <= 1, "temperature 0"},
          {"top_p", !greedy && !one, sampling.top_p == 1, likeliest},
          {"min_p", !greedy && !one, sampling.min_p == 0, likeliest},
          {"repetition_penalty", sampling.penalty_window != 0, sampling.repetition_penalty == 1, "penalty_window 0"},
          {"penalty_window", sampling.repetition_penalty != 1, sampling.penalty_window == 0, "repetition_penalty 1"}};
}

void WarnOfNoEffect(const std::vector<Effect>& effects) {
  std::vector<std::string> without;
  for (const Effect& effect : effects) {
    if (!IsGiven(effect.flag) || effect.counts || effect.agrees) continue;
    without.push_back(absl::StrCat("--", effect.flag, " with ", effect.decides));
  }
  if (!without.empty()) WarnOnce(absl::StrCat("of no effect: ", absl::StrJoin(without, ", ")));
}

}  // namespace

absl::Status CheckSamplingFlags() {
  RETURN_IF_ERROR(SeedOfFlag().status());
  return Sampler::Create(SamplingOfFlags()).status();
}

absl::StatusOr<SamplingOptions> SamplingFor(const GgufFile& file) {
  const ModelSampling model = SamplingOf(file);
  for (const RecommendedSampling::Wrong& each : model.wrong) {  // Harmless where a flag sets the value.
    if (!IsGiven(each.field)) return each.problem;
  }
  SamplingOptions sampling = SamplingOfFlags();
  ASSIGN_OR_RETURN(sampling.seed, SeedOfFlag());
  const std::vector<Setting> settings = SetFields(model, sampling);
  const std::vector<Effect> effects = EffectsOf(sampling);
  WarnOfNoEffect(effects);
  if (!IsGiven(kPenalty) && model.OriginOf(kPenalty) == kOfBeam) TellOfPenaltyLeftOut(file);
  std::vector<std::string> changed;
  for (size_t i = 0; i < settings.size(); ++i) {
    const bool of_file = settings[i].from == kOfFile && settings[i].changes;
    if (of_file && effects[i].counts) changed.push_back(absl::StrCat(settings[i].flag, " ", settings[i].value));
  }
  if (!changed.empty() && !FLAGS_stats) {  // SamplingText says more.
    const std::string line = absl::StrCat("sampling as the model's file recommends: ", absl::StrJoin(changed, ", "), "\n");
    if (IsSaidFirst(line)) WriteMessage(line);
  }
  if (!model.not_applied.empty()) {
    WarnOnce(absl::StrCat(file.path(), ": recommends sampling that there is not here: ", absl::StrJoin(model.not_applied, ", ")));
  }
  return sampling;
}

std::string SamplingText(const GgufFile& file, const SamplingOptions* used) {
  SamplingOptions sampling = SamplingOfFlags();
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;   // By origin, in the order of each origin's first value.
  for (const Setting& setting : SetFields(SamplingOf(file), sampling, used)) {
    const auto same = [&](const auto& part) { return part.first == setting.from; };
    auto part = std::find_if(parts.begin(), parts.end(), same);
    if (part == parts.end()) part = parts.insert(parts.end(), {setting.from, {}});
    part->second.push_back(absl::StrCat(setting.flag, " ", setting.value));
  }
  const auto with_origin = [](std::string* text, const auto& part) {
    absl::StrAppend(text, absl::StrJoin(part.second, ", "), " (", part.first.empty() ? "default" : part.first, ")");
  };
  const uint64_t seed = used != nullptr ? used->seed : SeedOfFlag().value();
  return absl::StrCat("sampling: ", absl::StrJoin(parts, "; ", with_origin), "; seed ", seed, "\n");
}

}  // namespace tessera
