#include "tessera/apps/cli/answer_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/flag_checks.h"
#include "tessera/apps/cli/speculation_flags.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

DEFINE_uint64(seed, 0, "N|Seed of the random numbers: the same seed gives the same result.");
DEFINE_double(temperature, 0.8, "T|Temperature of sampling; 0: always choose the likeliest token.");
DEFINE_int32(top_k, 40, "K|Choose among the K likeliest tokens; 0: no limit.");
DEFINE_double(top_p, 0.95, "P|Choose among the likeliest tokens that have probability P together; 1: no limit.");
DEFINE_double(min_p, 0.05, "P|Leave out tokens that are less than P times as probable as the likeliest; 0: no limit.");
DEFINE_double(repetition_penalty, 1.0, "X|Divide logits of the last 64 tokens by X; 1: no penalty.");
DEFINE_string(stop, "", "TEXT|End the answer before this text, or before any of a list: '[\"###\", \"User:\"]'.");
DEFINE_int32(n_predict, 512, "TOKENS|Most tokens of an answer; 0: until the context is full.");

namespace tessera {
namespace {

SamplingOptions SamplingOfFlags() {
  return {.temperature = static_cast<float>(FLAGS_temperature),
          .top_k = FLAGS_top_k,
          .top_p = static_cast<float>(FLAGS_top_p),
          .min_p = static_cast<float>(FLAGS_min_p),
          .repetition_penalty = static_cast<float>(FLAGS_repetition_penalty),
          .seed = FLAGS_seed};
}

absl::StatusOr<std::vector<std::string>> StopStrings() {
  if (FLAGS_stop.empty()) return std::vector<std::string>();
  absl::string_view list_start = FLAGS_stop;  // A text may begin with a bracket, too: only one with a quote after it begins a list.
  const bool is_list = absl::ConsumePrefix(&list_start, "[") && absl::StartsWith(absl::StripLeadingAsciiWhitespace(list_start), "\"");
  if (!is_list) return std::vector<std::string>{FLAGS_stop};
  const absl::StatusOr<JsonValue> list = JsonValue::Parse(FLAGS_stop, "stop");
  RETURN_IF_ERROR(ForField("stop", list.status()));
  absl::StatusOr<std::vector<std::string>> texts = list->AsStrings();
  RETURN_IF_ERROR(ForField("stop", texts.status()));
  return texts;
}

}  // namespace

FlagGroup SamplingFlags() {
  return {"Sampling", {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed", "stop"}};
}

absl::StatusOr<AnswererOptions> AnswererOptionsOfFlags() {
  RETURN_IF_ERROR(CheckFlagRange("n_predict", FLAGS_n_predict, 0, 1 << 30));
  AnswererOptions options = {.sampling = SamplingOfFlags(), .speculation = SpeculationOfFlags()};
  RETURN_IF_ERROR(Sampler::Create(options.sampling).status());
  ASSIGN_OR_RETURN(options.stop, StopStrings());
  return options;
}

}  // namespace tessera
