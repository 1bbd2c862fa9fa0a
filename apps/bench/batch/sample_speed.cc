#include "tessera/apps/bench/batch/sample_speed.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/bench/batch/row_pass.h"
#include "tessera/apps/bench/batch/texts_together.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/spec/drafters/history/shared_history.h"
#include "tessera/spec/drafters/siblings_drafter.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {
namespace {

using Samples = std::vector<double>;

enum Way { kPlain, kApart, kShared, kWays };
constexpr const char* kWayNames[kWays] = {"without drafts", "with drafts of their own", "with shared drafts"};

DrafterRegistry Registry() {
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  registry.Add(DrafterRegistry::Siblings()).IgnoreError();   // The name is free.
  return registry;
}

// The samples of one prompt, generated in one mode.
struct Written {
  std::vector<std::vector<TokenId>> texts = {};
  SteadyRate rate = {};           // From the end of the prompt to the end of the last sample;
  SteadyRate full = {};           // while all samples were decoded.
  int64_t text_steps = 0;         // Steps of each sample, all together.
  double TokensPerPass() const { return static_cast<double>(rate.tokens) / static_cast<double>(text_steps); }
};

void Count(const TimedStep& step, SteadyRate& rate) {
  rate.tokens += step.tokens;
  rate.seconds += step.seconds;
  rate.steps += 1;
}

// Returns `count` tokens, the prompt's in a cycle: the choice of tokens changes no time.
std::vector<TokenId> Around(const std::vector<TokenId>& prompt, size_t count) {
  std::vector<TokenId> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = prompt[i % prompt.size()];
  return tokens;
}

class SampleBench {
 public:
  SampleBench(Engine& engine, const SampleSpeedOptions& options, SampleDrafts drafts)
      : engine_(engine), options_(options), drafts_(std::move(drafts)) {
    ways_ = {kPlain};
    if (!drafts_.apart.empty()) ways_.push_back(kApart);
    if (!drafts_.shared.empty()) ways_.push_back(kShared);
  }

  absl::Status Repeat(int repetition, bool counts) {
    counts_ = counts;
    const std::vector<TokenId>& prompt = options_.prompts[static_cast<size_t>(repetition) % options_.prompts.size()];
    for (const int samples : options_.together) RETURN_IF_ERROR(Measure(samples, prompt));
    ++turn_;
    return absl::OkStatus();
  }

  SampleSpeed Result() const;

 private:
  struct DraftSamples { Samples rate, gain, tokens_per_pass; };
  struct RowSamples {
    Samples rate, step, pass, of_pass, shared_of_apart;
    DraftSamples drafted[kWays];
  };

  void Keep(double value, Samples& samples) const {
    if (counts_) samples.push_back(value);
  }
  absl::Status Measure(int samples, const std::vector<TokenId>& prompt);
  absl::StatusOr<Written> Write(Way way, int samples, const std::vector<TokenId>& prompt);
  absl::StatusOr<double> PassSeconds(int rows, const std::vector<TokenId>& prompt);
  void Compare(const Written& plain, const Written& drafted, Way way);
  static std::optional<SampleSpeed::Drafted> MediansOf(const DraftSamples& samples);

  Engine& engine_;
  const SampleSpeedOptions& options_;
  const SampleDrafts drafts_;
  std::vector<Way> ways_;
  CostProfile costs_;
  bool counts_ = false;
  size_t turn_ = 0;                      // The mode that begins.
  std::map<int, RowSamples> samples_;    // By number of samples.
  std::string difference_;
};

absl::Status SampleBench::Measure(int samples, const std::vector<TokenId>& prompt) {
  Written written[kWays];
  double pass = 0;
  for (size_t i = 0; i < ways_.size(); ++i) {
    const Way way = ways_[(turn_ + i) % ways_.size()];
    if (way == kPlain) {
      ASSIGN_OR_RETURN(pass, PassSeconds(samples, prompt));
    }
    ASSIGN_OR_RETURN(written[way], Write(way, samples, prompt));
    if (way != kPlain) continue;
    ASSIGN_OR_RETURN(const double after, PassSeconds(samples, prompt));
    pass = (pass + after) / 2;
  }
  const Written& plain = written[kPlain];
  RowSamples& row = samples_[samples];
  Keep(plain.full.TokensPerSecond(), row.rate);
  Keep(plain.full.StepSeconds(), row.step);
  Keep(pass, row.pass);
  Keep(plain.full.StepSeconds() / pass, row.of_pass);
  for (const Way way : ways_) {
    if (way == kPlain) continue;
    Compare(plain, written[way], way);
    Keep(written[way].rate.TokensPerSecond(), row.drafted[way].rate);
    Keep(written[way].rate.TokensPerSecond() / plain.rate.TokensPerSecond(), row.drafted[way].gain);
    Keep(written[way].TokensPerPass(), row.drafted[way].tokens_per_pass);
  }
  if (ways_.size() == kWays) Keep(written[kShared].rate.TokensPerSecond() / written[kApart].rate.TokensPerSecond(), row.shared_of_apart);
  return absl::OkStatus();
}

// Times a pass in a context where the samples are half generated.
absl::StatusOr<double> SampleBench::PassSeconds(int rows, const std::vector<TokenId>& prompt) {
  const size_t half = static_cast<size_t>(options_.generate_tokens) / 2;
  return SecondsOfRowPass(engine_, Around(prompt, prompt.size() + half), Around(prompt, static_cast<size_t>(rows)));
}

absl::StatusOr<Written> SampleBench::Write(Way way, int samples, const std::vector<TokenId>& prompt) {
  const std::string& list = way == kApart ? drafts_.apart : drafts_.shared;
  std::shared_ptr<SharedHistory> siblings;
  if (way == kShared) {
    const int64_t room = SharedHistory::UsualRoom(engine_.context());
    siblings = std::make_shared<SharedHistory>(std::make_shared<SharedHistory::Room>(room));
  }
  std::vector<std::unique_ptr<Speculator>> speculators(static_cast<size_t>(samples));   // The elements outlive the streams.
  ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> together,
                   TextsTogether::Create(engine_, costs_, /*most_gap=*/std::numeric_limits<double>::max()));
  for (int sample = 0; sample < samples; ++sample) {
    std::unique_ptr<Speculator>& speculator = speculators[static_cast<size_t>(sample)];
    if (way != kPlain) {
      ASSIGN_OR_RETURN(speculator, NewSpeculator(engine_, Registry(), list, costs_));
    }
    together->Add(prompt,
                  {.max_tokens = options_.generate_tokens + 1, .stream = static_cast<uint64_t>(sample), .ignore_end = true,
                   .speculator = speculator.get(), .siblings = siblings},
                  /*adapter=*/nullptr, options_.sampling);
  }
  Written written;
  while (true) {
    ASSIGN_OR_RETURN(const TimedStep step, together->Step());
    if (!step.any) break;
    if (step.prompt_rows > 0 || step.tokens == 0) continue;
    Count(step, written.rate);
    if (step.texts == samples) Count(step, written.full);
    written.text_steps += step.texts;
  }
  for (int sample = 0; sample < samples; ++sample) written.texts.push_back(together->text(sample).tokens);
  if (written.full.steps > 0) return written;
  return LimitedBy("cache_tokens", absl::ResourceExhaustedError(absl::StrCat("samples: found no pass in which all ", samples,
                                                                        " samples were written, expected a cache with room for them")));
}

void SampleBench::Compare(const Written& plain, const Written& drafted, Way way) {
  for (size_t sample = 0; sample < plain.texts.size() && difference_.empty(); ++sample) {
    const std::vector<TokenId>&a = plain.texts[sample], &b = drafted.texts[sample];
    const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (differs.first == a.end() && differs.second == b.end()) continue;
    difference_ = absl::StrCat("samples: found a text that drafts changed (sample ", sample, " of ", plain.texts.size(), ", token ",
                               differs.first - a.begin(), ", ", kWayNames[way], "), expected that ", kWayNames[kPlain]);
  }
}

std::optional<SampleSpeed::Drafted> SampleBench::MediansOf(const DraftSamples& samples) {
  if (samples.rate.empty()) return std::nullopt;
  return SampleSpeed::Drafted{.tokens_per_second = MedianOf(samples.rate),
                              .gain = MedianOf(samples.gain),
                              .tokens_per_pass = MedianOf(samples.tokens_per_pass)};
}

SampleSpeed SampleBench::Result() const {
  SampleSpeed speed = {.memory = engine_.memory(), .cache_tokens = engine_.cache_tokens(), .difference = difference_};
  for (const auto& [samples, of] : samples_) {
    SampleSpeed::Row row = {.samples = samples, .tokens_per_second = SpreadOf(of.rate), .step_seconds = MedianOf(of.step),
                            .pass_seconds = MedianOf(of.pass), .of_pass = MedianOf(of.of_pass)};
    row.apart = MediansOf(of.drafted[kApart]);
    row.shared = MediansOf(of.drafted[kShared]);
    if (!of.shared_of_apart.empty()) row.shared_of_apart = MedianOf(of.shared_of_apart);
    speed.rows.push_back(std::move(row));
  }
  return speed;
}

}  // namespace

absl::StatusOr<SampleDrafts> DraftsOfSamples(const std::string& speculate) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, Registry().Parse(speculate));
  if (names.empty()) return SampleDrafts();
  std::erase(names, kSiblings);
  SampleDrafts drafts = {.apart = absl::StrJoin(names, ","), .shared = {}};
  names.push_back(kSiblings);
  drafts.shared = absl::StrJoin(names, ",");
  RETURN_IF_ERROR(Registry().Parse(drafts.shared).status());   // With siblings there may be too many drafters.
  return drafts;
}

absl::StatusOr<SampleSpeed> MeasureSamples(Engine& engine, const SampleSpeedOptions& options) {
  const int capacity = CoreOf(engine).runner().row_capacity();
  if (options.together.back() > capacity) {
    return WrongUsage("together", options.together.back(), absl::StrCat("at most ", capacity, ", the rows of a pass of this model"));
  }
  ASSIGN_OR_RETURN(SampleDrafts drafts, DraftsOfSamples(options.speculate));
  SampleBench bench(engine, options, std::move(drafts));
  Progress progress("repetitions", options.repetitions);
  for (int i = -1; i < options.repetitions; ++i) {  // The first run warms caches and learns costs; it is not counted.
    RETURN_IF_ERROR(bench.Repeat(std::max(i, 0), /*counts=*/i >= 0));
    if (i >= 0) progress.Update(i + 1);
  }
  return bench.Result();
}

}  // namespace tessera
