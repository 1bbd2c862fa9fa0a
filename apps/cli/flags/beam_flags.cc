#include "tessera/apps/cli/flags/beam_flags.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/apps/cli/flags/scorer_of_flag.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/parallel_answers.h"

namespace tessera {
namespace {

constexpr char kBeam[] = "beam", kDelimiter[] = "step_delimiter";

// Decodes escapes, since a shell hands on a backslash unchanged.
absl::StatusOr<std::string> DelimiterOfFlag() {
  std::string delimiter, error;
  if (!absl::CUnescape(FLAGS_step_delimiter, &delimiter, &error) || delimiter.empty()) {
    return WrongUsage(kDelimiter, Quoted(FLAGS_step_delimiter), "a text, with \\n for a line break, \\t for a tab, \\\\ for a backslash");
  }
  return delimiter;
}

// Returns an error for flags of other ways to write. A flag with the usual value counts as not given.
absl::Status CheckNothingBeside() {
  const struct { const char* flag; bool on; const char* why; } others[] = {
      {"best_of", FLAGS_best_of > 1, "one of them"},
      {"answers", FLAGS_answers > 1, "one of them: a search ends with one text"},
      {"parallel", FLAGS_parallel > 1, "one of them: a search fills passes with rows of its own"},
      {"session", !FLAGS_session.empty(), "one of them"},
      {"chat", FLAGS_chat, "one of them: a search shows its text at the end alone"},
      {"speculate", IsGiven("speculate") && FLAGS_speculate != "none", "none, or no --beam: nothing is drafted beside beams"},
      {"draft_model", !FLAGS_draft_model.empty(), "one of them: nothing is drafted beside beams"},
      {"history", !FLAGS_history.empty(), "one of them: nothing is drafted beside beams"},
      {"cost_profile", !FLAGS_cost_profile.empty(), "one of them: nothing is drafted beside beams"},
  };
  for (const auto& other : others) {
    if (other.on) return WrongUsage(other.flag, "beside --beam", other.why);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BeamOptions> ParseBeamShape(absl::string_view shape) {
  BeamOptions beams;
  const std::vector<absl::string_view> parts = absl::StrSplit(shape, 'x');
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &beams.width) && absl::SimpleAtoi(parts[1], &beams.expansions) &&
      beams.width >= 1 && beams.expansions >= 1 && beams.width <= kMostTexts / beams.expansions) {
    return beams;
  }
  return WrongUsage(kBeam, Quoted(shape), absl::StrCat("WIDTHxEXPANSIONS, such as 4x4: at most ", kMostTexts, " texts at once"));
}

absl::Status CheckBeamFlags() {
  if (FLAGS_beam.empty()) {
    for (const char* const flag : {kDelimiter, "most_steps"}) {
      if (IsGiven(flag)) return WrongUsage(flag, "without --beam", "both: other texts have no steps");
    }
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckNothingBeside());
  RETURN_IF_ERROR(CheckScorer(BeamScorerSpec()));
  return BeamRunOfFlags({.temperature = static_cast<float>(FLAGS_temperature),
                         .top_k = FLAGS_top_k,
                         .min_p = static_cast<float>(FLAGS_min_p),
                         .repetition_penalty = static_cast<float>(FLAGS_repetition_penalty),
                         .penalty_window = FLAGS_penalty_window}).status();
}

absl::StatusOr<BeamRunOptions> BeamRunOfFlags(const SamplingOptions& sampling) {
  RETURN_IF_ERROR(CheckFlagRange("most_steps", FLAGS_most_steps, 1, 1 << 20));
  BeamRunOptions options = {.max_tokens = FLAGS_n_predict, .sampling = sampling};
  ASSIGN_OR_RETURN(options.beams, ParseBeamShape(FLAGS_beam));
  ASSIGN_OR_RETURN(options.beams.delimiter, DelimiterOfFlag());
  options.beams.most_steps = FLAGS_most_steps;
  RETURN_IF_ERROR(CheckBeams(options));
  return options;
}

std::string BeamScorerSpec() { return ScorerOfFlag("mean_log_probability"); }

absl::Status PlanBeamsOfFlags(EngineOptions& options) {
  ASSIGN_OR_RETURN(const BeamRunOptions beams, BeamRunOfFlags({}));   // How tokens are drawn takes no memory.
  RETURN_IF_ERROR(PlanBeams(beams, options));
  return PlanScorer(BeamScorerSpec(), options);
}

absl::StatusOr<std::unique_ptr<Scorer>> BeamScorerOfFlags(Engine& engine, const BeamRunOptions& options, bool raw) {
  return MakeScorer(BeamScorerSpec(), engine, {.steps = {.delimiter = options.beams.delimiter}, .raw = raw});
}

}  // namespace tessera
