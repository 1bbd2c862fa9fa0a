#include "tessera/apps/bench/batch/batch_speed.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/batch/row_pass.h"
#include "tessera/apps/bench/batch/texts_together.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {
namespace {

constexpr int kLongestOfCategories = 1024;
constexpr int kLeastChunk = 1;             // With sequences whose gaps are bounded, chunks of a prompt may have one token each.
constexpr int kSlack = 64;
constexpr double kHigh = 0.95;

using Samples = std::vector<double>;

// Returns the most tokens that each sequence may generate while both prompts are read.
int TokensBeside(const BatchSpeedOptions& options) {
  return (options.prompt_tokens + options.long_prompt) / kLeastChunk + kSlack;
}

class BatchBench {
 public:
  BatchBench(Engine& engine, const BatchSpeedOptions& options) : engine_(engine), options_(options) {}

  absl::Status Repeat(bool counts) {
    counts_ = counts;
    for (const int texts : options_.together) RETURN_IF_ERROR(Together(texts));
    const std::set<int> numbers = {1, options_.writers};
    for (size_t category = 0; category < options_.categories.size(); ++category) {
      for (const int texts : numbers) RETURN_IF_ERROR(Category(category, texts));
    }
    RETURN_IF_ERROR(FirstTokenAlone());
    for (const int texts : numbers) RETURN_IF_ERROR(Beside(texts));
    drafts_first_ = !drafts_first_;
    return absl::OkStatus();
  }

  BatchSpeed Result() const;

 private:
  struct TogetherSamples { Samples rate, step, pass; };
  struct CategorySamples { Samples plain, drafted, gain, tokens_per_pass; };
  struct GapSamples { Samples gaps, prompt_seconds, prompt_passes; };

  void Keep(double value, Samples& samples) const {
    if (counts_) samples.push_back(value);
  }
  std::vector<TokenId> RandomPrompt(int tokens) {
    SeededRandom random(++prompts_);
    std::vector<TokenId> prompt(static_cast<size_t>(std::max(tokens, 1)));
    for (TokenId& token : prompt) token = static_cast<TokenId>(random.Below(engine_.config().vocabulary));
    return prompt;
  }

  double Now() const { return static_cast<double>(engine_.ClockOr(nullptr).NowNanos()) * 1e-9; }
  absl::Status Together(int texts);
  absl::Status Category(size_t category, int texts);
  absl::StatusOr<SteadyRate> Write(const TokenizedCategory& category, int texts, bool drafts);
  absl::Status FirstTokenAlone();
  absl::Status Beside(int texts);
  // Adds a prompt and steps until the first token after the prompt, which ends the sequence. Returns the passes.
  absl::StatusOr<int> Read(TextsTogether& together, int prompt_tokens, double& seconds);
  void KeepGaps(const TextsTogether& together, const std::vector<size_t>& from, Samples& gaps) const;

  Engine& engine_;
  const BatchSpeedOptions& options_;
  CostProfile costs_;
  bool counts_ = false, drafts_first_ = false;
  uint64_t prompts_ = 0;                                // Prompts so far; every prompt is different.
  std::map<int, TogetherSamples> together_;             // By number of sequences.
  std::map<std::pair<size_t, int>, CategorySamples> categories_; // By the category's place, and number of sequences.
  std::map<std::pair<int, int>, GapSamples> gaps_;      // By number of sequences, and tokens of the prompt.
  std::map<int, Samples> first_tokens_;                 // By number of sequences.
};

absl::Status BatchBench::Together(int texts) {
  std::vector<std::vector<TokenId>> prompts;
  for (int i = 0; i < texts; ++i) prompts.push_back(RandomPrompt(options_.depth));
  const SteadyTexts steady = {.texts = texts, .tokens = options_.generate_tokens, .prompts = prompts, .ignore_end = true};
  ASSIGN_OR_RETURN(const SteadyRate rate, WriteTogether(engine_, costs_, steady));
  const std::vector<TokenId> half_written = RandomPrompt(options_.depth + options_.generate_tokens / 2);
  ASSIGN_OR_RETURN(const double pass, SecondsOfRowPass(engine_, half_written, RandomPrompt(texts)));
  TogetherSamples& samples = together_[texts];
  Keep(rate.TokensPerSecond(), samples.rate);
  Keep(rate.StepSeconds(), samples.step);
  Keep(pass, samples.pass);
  return absl::OkStatus();
}

absl::Status BatchBench::Category(size_t category, int texts) {
  SteadyRate plain, drafted;
  for (const bool drafts : {drafts_first_, !drafts_first_}) {
    ASSIGN_OR_RETURN((drafts ? drafted : plain), Write(options_.categories[category], texts, drafts));
  }
  CategorySamples& samples = categories_[{category, texts}];
  Keep(plain.TokensPerSecond(), samples.plain);
  Keep(drafted.TokensPerSecond(), samples.drafted);
  Keep(drafted.TokensPerSecond() / plain.TokensPerSecond(), samples.gain);
  Keep(static_cast<double>(drafted.tokens) / static_cast<double>(drafted.steps * texts), samples.tokens_per_pass);
  return absl::OkStatus();
}

absl::StatusOr<SteadyRate> BatchBench::Write(const TokenizedCategory& category, int texts, bool drafts) {
  SteadyTexts steady = {.texts = texts, .tokens = options_.generate_tokens, .prompts = category.prompts};
  // A new speculator for each sequence: a speculator that has seen a sequence would know the tokens.
  if (drafts) steady.make_speculator = [this] { return NewSpeculator(engine_, DrafterRegistry::BuiltIn(), options_.speculate, costs_); };
  return WriteTogether(engine_, costs_, steady);
}

absl::Status BatchBench::FirstTokenAlone() {
  ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> together, TextsTogether::Create(engine_, costs_));
  double seconds = 0;
  RETURN_IF_ERROR(Read(*together, options_.prompt_tokens, seconds).status());
  Keep(seconds, first_tokens_[0]);
  return absl::OkStatus();
}

absl::StatusOr<int> BatchBench::Read(TextsTogether& together, int prompt_tokens, double& seconds) {
  const int number = together.Add(RandomPrompt(prompt_tokens), {.max_tokens = 1});
  const TextsTogether::Text& text = together.text(number);
  ASSIGN_OR_RETURN(const int passes, together.StepUntil([&] { return text.ended; }));
  seconds = text.token_seconds.front() - text.begin_seconds;
  return passes;
}

// Keeps the gaps after the first `from` tokens of each sequence.
void BatchBench::KeepGaps(const TextsTogether& together, const std::vector<size_t>& from, Samples& gaps) const {
  for (size_t number = 0; number < from.size(); ++number) {
    const std::vector<double>& seconds = together.text(static_cast<int>(number)).token_seconds;
    for (size_t token = std::max<size_t>(from[number], 1); token < seconds.size(); ++token) {
      Keep(seconds[token] - seconds[token - 1], gaps);
    }
  }
}

// Decodes `texts` sequences alone for a while. Then a prompt comes and gets the first token, then a long prompt is read.
absl::Status BatchBench::Beside(int texts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> together, TextsTogether::Create(engine_, costs_));
  const int most = 2 + options_.generate_tokens + TokensBeside(options_);
  for (int i = 0; i < texts; ++i) together->Add(RandomPrompt(options_.depth), {.max_tokens = most, .ignore_end = true});
  const auto tokens = [&] {
    std::vector<size_t> counts;
    for (int i = 0; i < texts; ++i) counts.push_back(together->text(i).token_seconds.size());
    return counts;
  };
  const auto least = [&] {
    const std::vector<size_t> counts = tokens();
    return *std::min_element(counts.begin(), counts.end());
  };
  RETURN_IF_ERROR(together->StepUntil([&] { return least() > 0; }).status());
  std::vector<size_t> from = tokens();
  const size_t enough = least() + static_cast<size_t>(options_.generate_tokens);
  RETURN_IF_ERROR(together->StepUntil([&] { return least() >= enough; }).status());
  KeepGaps(*together, from, gaps_[{texts, 0}].gaps);
  double seconds = 0;
  RETURN_IF_ERROR(Read(*together, options_.prompt_tokens, seconds).status());
  Keep(seconds, first_tokens_[texts]);
  if (options_.long_prompt == 0) return absl::OkStatus();
  from = tokens();
  GapSamples& samples = gaps_[{texts, options_.long_prompt}];
  ASSIGN_OR_RETURN(const int passes, Read(*together, options_.long_prompt, seconds));
  for (int i = 0; i < texts; ++i) {
    if (together->text(i).ended) return absl::OkStatus();   // The rest of the prompt was read with fewer sequences.
  }
  KeepGaps(*together, from, samples.gaps);
  Keep(seconds, samples.prompt_seconds);
  Keep(passes, samples.prompt_passes);
  return absl::OkStatus();
}

BatchSpeed BatchBench::Result() const {
  BatchSpeed speed = {.memory = engine_.memory(), .cache_tokens = engine_.cache_tokens(), .peak_memory = PeakMemoryBytes()};
  for (const auto& [texts, samples] : together_) {
    speed.together.push_back({texts, SpreadOf(samples.rate), MedianOf(samples.step), MedianOf(samples.pass)});
  }
  for (const auto& [which, samples] : categories_) {
    const TokenizedCategory& category = options_.categories[which.first];
    speed.categories.push_back({category.name, which.second, static_cast<int>(category.prompts.size()), category.left_out,
                                MedianOf(samples.plain),
                           MedianOf(samples.drafted), MedianOf(samples.gain), MedianOf(samples.tokens_per_pass)});
  }
  for (const auto& [which, samples] : gaps_) {
    Samples sorted = samples.gaps;
    std::sort(sorted.begin(), sorted.end());
    BatchSpeed::Gaps gaps = {.texts = which.first, .prompt_tokens = which.second, .gaps = static_cast<int64_t>(sorted.size())};
    if (!sorted.empty()) {   // Otherwise all sequences ended before.
      gaps.median = Quantile(sorted, 0.5);
      gaps.high = Quantile(sorted, kHigh);
      gaps.longest = sorted.back();
    }
    if (!samples.prompt_passes.empty()) {
      gaps.prompt_seconds = MedianOf(samples.prompt_seconds);
      gaps.prompt_passes = MedianOf(samples.prompt_passes);
    }
    speed.gaps.push_back(gaps);
  }
  for (const auto& [texts, samples] : first_tokens_) speed.first_tokens.push_back({texts, options_.prompt_tokens, MedianOf(samples)});
  return speed;
}

}  // namespace

int BatchSpeedOptions::MostTexts() const { return std::max(together.empty() ? 1 : together.back(), writers); }

int BatchSpeedOptions::NeededContext() const {
  const int written = std::max(depth, 1) + generate_tokens + 2;
  const int of_categories = speculate == "none" ? 0 : kLongestOfCategories + generate_tokens + 2;
  return std::max({written + TokensBeside(*this), prompt_tokens + 2, long_prompt + 2, of_categories});
}

int BatchSpeedOptions::NeededTokens() const {
  const int64_t written = std::max(depth, 1) + generate_tokens + 2;
  const int64_t of_writers = writers * (written + TokensBeside(*this));
  const int64_t beside = of_writers + std::max(prompt_tokens, long_prompt) + 2;
  const int64_t of_categories = speculate == "none" ? 0 : int64_t{writers} * (kLongestOfCategories + generate_tokens + 2);
  return static_cast<int>(std::min<int64_t>(std::max({MostTexts() * written, beside, of_categories}), kMostContext));
}

absl::StatusOr<BatchSpeed> MeasureBatch(Engine& engine, const BatchSpeedOptions& options) {
  const int capacity = CoreOf(engine).runner().row_capacity();
  if (options.together.back() > capacity) {
    return WrongUsage("together", options.together.back(), absl::StrCat("at most ", capacity, ", the rows of a pass of this model"));
  }
  BatchBench bench(engine, options);
  Progress progress("repetitions", options.repetitions);
  for (int i = -1; i < options.repetitions; ++i) {  // The first run warms caches and learns costs; it is not counted.
    RETURN_IF_ERROR(bench.Repeat(/*counts=*/i >= 0));
    if (i >= 0) progress.Update(i + 1);
  }
  return bench.Result();
}

}  // namespace tessera
