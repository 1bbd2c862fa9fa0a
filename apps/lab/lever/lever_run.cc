#include "tessera/apps/lab/lever/lever_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/session/prompt.h"

namespace tessera {
namespace {

constexpr int kWarmUpTokens = 16;   // Enough passes to know the costs of passes.

struct Written {
  std::vector<TokenId> tokens;
  LeverTotals took;
};

// An engine, and the one session that generates all sequences.
class Writer {
 public:
  static absl::StatusOr<Writer> Create(Engine& engine) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
    ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
    return Writer(engine, std::move(session), sampler);
  }

  absl::StatusOr<Written> Write(const std::vector<TokenId>& prompt, int most_tokens, LeverSystem& by) {
    Speculator* const speculator = by.speculator();
    session_->Truncate(0);
    RETURN_IF_ERROR(AppendPrompt(*session_, speculator, prompt));
    const double begin = Now(), stall = StallSeconds(), drafted = DraftSeconds(speculator);
    const GenerateOptions text = {.max_tokens = most_tokens, .speculator = speculator, .prune = by.pruning()};
    ASSIGN_OR_RETURN(Generation result, Generate(*session_, sampler_, text));
    const double seconds = Now() - begin;
    if (result.reason == FinishReason::kCancelled) return absl::CancelledError("stopped");
    Written written = {.tokens = std::move(result.tokens), .took = {}};
    written.took = {.tokens = static_cast<int64_t>(written.tokens.size()) - 1,
                    .passes = result.passes,
                    .rows = result.rows,
                    .pruned = result.pruned,
                    .seconds = seconds,
                    .draft_seconds = DraftSeconds(speculator) - drafted,
                    .stall_seconds = StallSeconds() - stall};
    return written;
  }

 private:
  Writer(Engine& engine, std::unique_ptr<Session> session, const Sampler& sampler)
      : engine_(&engine), session_(std::move(session)), sampler_(sampler) {}

  double Now() const { return static_cast<double>(engine_->ClockOr(nullptr).NowNanos()) * 1e-9; }
  double StallSeconds() const {
    const LayerStreamer* const streamer = engine_->model().streamer();
    return streamer == nullptr ? 0 : static_cast<double>(streamer->stats().stall_nanos) * 1e-9;
  }
  static double DraftSeconds(Speculator* speculator) { return speculator == nullptr ? 0 : speculator->report().draft_seconds; }

  Engine* engine_;
  std::unique_ptr<Session> session_;
  Sampler sampler_;
};

std::string Difference(const std::vector<TokenId>& expected, const std::vector<TokenId>& found) {
  const size_t place = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end()).first - expected.begin();
  const auto token_at = [place](const std::vector<TokenId>& text) {
    return place < text.size() ? absl::StrCat("token ", text[place]) : std::string("the end");
  };
  return absl::StrCat("found ", token_at(found), " at ", place, ", expected ", token_at(expected));
}

class LeverBench {
 public:
  LeverBench(const LeverEngines& engines, const LeverOptions& options) : engines_(engines), options_(options) {
    findings_.systems = options.systems;
    findings_.sets = options.sets;
    findings_.streams = engines.target->model().streamer() != nullptr;
    for (const auto& [path, predictor] : engines.predictors) {
      const bool rows = predictor->kind() == ExitPredictor::Kind::kVocabulary;
      findings_.predictors.push_back({.path = path, .kind = rows ? "vocabulary" : "width", .layer = predictor->layer()});
    }
    findings_.tables.resize(options.systems.size());
    findings_.totals.resize(options.systems.size());
    const std::vector<LeverTotals> none(static_cast<size_t>(options.repetitions));
    for (auto& sets : findings_.totals) sets.resize(options.sets.size(), none);
  }

  absl::StatusOr<LeverFindings> Run() {
    RETURN_IF_ERROR(OpenWriters());
    int64_t prompts = 0;
    for (const LeverSet& set : options_.sets) prompts += static_cast<int64_t>(set.prompts.size());
    Progress progress("texts", prompts * options_.repetitions * static_cast<int64_t>(options_.systems.size()));
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) RETURN_IF_ERROR(Repeat(repetition, progress));
    return std::move(findings_);
  }

 private:
  absl::Status OpenWriters() {
    ASSIGN_OR_RETURN(Writer target, Writer::Create(*engines_.target));
    writers_.push_back(std::move(target));
    if (engines_.pinned == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(Writer pinned, Writer::Create(*engines_.pinned));
    writers_.push_back(std::move(pinned));
    return absl::OkStatus();
  }

  absl::Status Repeat(int repetition, Progress& progress) {
    std::vector<std::unique_ptr<LeverSystem>> systems;
    for (const LeverSpec& spec : options_.systems) {
      const ExitPredictor* const predictor = spec.prunes ? engines_.predictors[static_cast<size_t>(spec.predictor)].predictor : nullptr;
      ASSIGN_OR_RETURN(systems.emplace_back(), LeverSystem::Create(spec, *engines_.target, engines_.draft, predictor));
      RETURN_IF_ERROR(WriteBy(systems.size() - 1, options_.warm_up, kWarmUpTokens, *systems.back()).status());
    }
    for (size_t set = 0; set < options_.sets.size(); ++set) {
      for (size_t prompt = 0; prompt < options_.sets[set].prompts.size(); ++prompt) {
        for (size_t turn = 0; turn < systems.size(); ++turn) {
          const size_t system = (turn + texts_) % systems.size();
          const std::vector<TokenId>& tokens = options_.sets[set].prompts[prompt];
          ASSIGN_OR_RETURN(const Written written, WriteBy(system, tokens, options_.generate_tokens, *systems[system]));
          findings_.totals[system][set][static_cast<size_t>(repetition)].Add(written.took);
          Compare(set, prompt, system, written.tokens);
          progress.Update(++done_);
        }
        ++texts_;
      }
    }
    for (size_t system = 0; system < systems.size(); ++system) End(system, *systems[system]);
    return absl::OkStatus();
  }

  absl::StatusOr<Written> WriteBy(size_t system, const std::vector<TokenId>& prompt, int most_tokens, LeverSystem& by) {
    const bool pinned = options_.systems[system].pins_draft;
    CHECK(!pinned || writers_.size() == 2) << options_.systems[system].variant;
    return writers_[pinned ? 1 : 0].Write(prompt, most_tokens, by);
  }

  // Compares a sequence with the first one of the same prompt.
  void Compare(size_t set, size_t prompt, size_t system, const std::vector<TokenId>& tokens) {
    const auto [first, is_first] = first_.insert({{set, prompt}, tokens});
    if (is_first || first->second == tokens || !findings_.difference.empty()) return;
    findings_.difference = absl::StrCat(options_.sets[set].name, ", text ", prompt + 1, ", by ", options_.systems[system].variant, ": ",
                                        Difference(first->second, tokens), ", as in the text that was written first");
  }

  void End(size_t system, LeverSystem& by) {
    if (by.table() != nullptr) findings_.tables[system] += *by.table();
    if (by.speculator() == nullptr) return;
    const std::string failures = by.speculator()->report().Failures();
    if (!failures.empty()) WarnOnce(absl::StrCat(options_.systems[system].variant, ": ", failures));
  }

  const LeverEngines engines_;
  const LeverOptions& options_;
  std::vector<Writer> writers_;     // For the target, and for the engine with more pins.
  std::map<std::pair<size_t, size_t>, std::vector<TokenId>> first_;   // By set and prompt.
  size_t texts_ = 0;                // Begun by all systems so far.
  int64_t done_ = 0;
  LeverFindings findings_;
};

}  // namespace

void LeverTotals::Add(const LeverTotals& more) {
  tokens += more.tokens;
  passes += more.passes;
  rows += more.rows;
  pruned.Add(more.pruned);
  seconds += more.seconds;
  draft_seconds += more.draft_seconds;
  stall_seconds += more.stall_seconds;
}

absl::StatusOr<LeverFindings> MeasureLever(const LeverEngines& engines, const LeverOptions& options) {
  return LeverBench(engines, options).Run();
}

}  // namespace tessera
