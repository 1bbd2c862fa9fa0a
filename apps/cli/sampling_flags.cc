#include "tessera/apps/cli/sampling_flags.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/seed_flag.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/recommended_sampling.h"

namespace tessera {
namespace {

// All but the seed.
SamplingOptions SamplingOfFlags() {
  return {.temperature = static_cast<float>(FLAGS_temperature),
          .top_k = FLAGS_top_k,
          .top_p = static_cast<float>(FLAGS_top_p),
          .min_p = static_cast<float>(FLAGS_min_p),
          .repetition_penalty = static_cast<float>(FLAGS_repetition_penalty),
          .penalty_window = FLAGS_penalty_window};
}

// Takes the file's value for a field whose flag is not given. True: it was taken.
template <typename Value>
bool Take(const std::optional<Value>& recommended, const char* flag, Value& value) {
  if (!recommended.has_value() || IsGiven(flag)) return false;
  value = *recommended;
  return true;
}

// What a value does beside the others.
struct Effect {
  std::string flag;
  bool counts;         // Another value might choose another token.
  bool agrees;         // It is off, or says what is done anyway.
  const char* decides;
};

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
  const RecommendedSampling recommended = ReadRecommendedSampling(file);
  for (const RecommendedSampling::Wrong& each : recommended.wrong) {  // No harm where a flag is above it.
    if (!IsGiven(each.field)) return each.problem;
  }
  SamplingOptions sampling = SamplingOfFlags();
  ASSIGN_OR_RETURN(sampling.seed, SeedOfFlag());
  std::map<std::string, std::string> changes;
  const auto take = [&](const auto& value, const char* flag, auto& place) {
    const auto before = place;
    if (Take(value, flag, place) && place != before) changes[flag] = absl::StrCat(flag, " ", place);
  };
  take(recommended.temperature, "temperature", sampling.temperature);
  take(recommended.top_k, "top_k", sampling.top_k);
  take(recommended.top_p, "top_p", sampling.top_p);
  take(recommended.min_p, "min_p", sampling.min_p);
  take(recommended.repetition_penalty, "repetition_penalty", sampling.repetition_penalty);
  take(recommended.penalty_window, "penalty_window", sampling.penalty_window);
  const std::vector<Effect> effects = EffectsOf(sampling);
  WarnOfNoEffect(effects);
  std::vector<std::string> changed;
  for (const Effect& effect : effects) {
    if (const auto change = changes.find(effect.flag); change != changes.end() && effect.counts) changed.push_back(change->second);
  }
  if (!changed.empty() && !FLAGS_stats) {  // SamplingText says more.
    const std::string line = absl::StrCat("sampling as the model's file recommends: ", absl::StrJoin(changed, ", "), "\n");
    if (IsSaidFirst(line)) WriteError(line);
  }
  if (!recommended.not_applied.empty()) {
    WarnOnce(absl::StrCat(file.path(), ": recommends sampling that there is not here: ", absl::StrJoin(recommended.not_applied, ", ")));
  }
  return sampling;
}

std::string SamplingText(const GgufFile& file) {
  const RecommendedSampling recommended = ReadRecommendedSampling(file);
  if (recommended.empty()) return "";
  std::string text = "sampling:";
  const auto add = [&](const char* flag, const auto& value, auto of_flag) {
    const bool taken = Take(value, flag, of_flag);
    absl::StrAppend(&text, text.back() == ':' ? " " : ", ", flag, " ", of_flag, taken ? " (file)" : "");
  };
  const SamplingOptions flags = SamplingOfFlags();
  add("temperature", recommended.temperature, flags.temperature);
  add("top_k", recommended.top_k, flags.top_k);
  add("top_p", recommended.top_p, flags.top_p);
  add("min_p", recommended.min_p, flags.min_p);
  add("repetition_penalty", recommended.repetition_penalty, flags.repetition_penalty);
  add("penalty_window", recommended.penalty_window, flags.penalty_window);
  return text + "\n";
}

}  // namespace tessera
