// Proves that a text does not depend on other texts in its passes. Runs random programs over the texts of a stepper. Each text must equal,
// token for token and bit for bit, the same text alone.
//
//   LoneWriter alone(options);
//   StreamProgram program(*engine, alone, {.seed = TestSeed(), .steps = 500});
//   EXPECT_EQ(program.Run(), "");                      // or the first difference, in words
//   EXPECT_GT(program.counts().preempted, 0);           // or it was not tried
//
// A step begins texts, some as forks of others, cancels some by any of three ways, reads queues, runs its hooks, and makes one pass.
// Prompts share prefixes; samplers, adapters, drafters, limits, stop strings and queues are random. Now and then a session of the same
// engine holds a part of the cache, and a stepper ends with its texts. Every end is reported once. Decisions follow from the seed.
// Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/scheduler/text_queue.h"
#include "tessera/spec/drafters/calibrated_tree.h"
#include "tessera/spec/drafters/history/shared_history.h"
#include "tessera/spec/drafters/siblings_drafter.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/lone_text.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {

class StreamProgram {
 public:
  struct Options {
    uint64_t seed = 0;
    int steps = 0;
    std::vector<const LoraAdapter*> adapters = {nullptr};
    std::vector<const ExitPredictor*> predictors = {};   // Predictors of this engine. Some drafts are pruned by a predictor, by any rule.
    int texts = 10;                    // At once, including waiting texts.
    int longest = 40;                  // Tokens of a prompt that is not a fork.
    // The time of a row, in addition to 10 ms for a pass, by frozen costs. 0: costs are learnt, by a clock that ticks.
    double row_seconds = 1e-5;
    bool keeps_prefixes = true;
    bool siblings = false;             // Most texts are in sets, whose texts draft from each other. Sets come and go, with little room.
    int restart_every = 0;             // The average number of steps, as for the next fields. 0: never.
    int session_every = 0;
    int fault_every = 0;
    std::function<void(SeededRandom& random)> begin_fault = nullptr;   // Passes may be Unavailable from now on.
    std::function<void()> end_fault = nullptr;
    int hook_every = 0;
    std::function<void(SeededRandom& random)> hook = nullptr;
  };
  struct Counts {
    int64_t begun = 0, forked = 0, whole = 0, cancelled = 0, failed = 0, refused = 0, dropped = 0, sessions = 0;
    int64_t passes = 0, most_texts = 0, shared_tokens = 0, preempted = 0, waited = 0, drafted = 0, pruned = 0;
    int64_t of_siblings = 0;           // Accepted tokens that siblings drafted.
  };

  StreamProgram(Engine& engine, LoneWriter& alone, const Options& options)
      : engine_(engine), alone_(alone), options_(options), random_(options.seed), clock_(/*nanos=*/100'000) {
    for (const int rows : {1, 32}) {
      if (options.row_seconds > 0) costs_.AddPass({.rows = rows}, 1e-2 + options.row_seconds * rows);
      if (options.row_seconds > 0) costs_.AddHead(rows, 1e-3 + options.row_seconds * rows);
    }
    if (options.row_seconds > 0) costs_.Freeze();
    NewStepper();
  }

  // Returns an empty string, or the first difference. May be called once.
  std::string Run() {
    std::string difference;
    int step = 0;
    for (; step < options_.steps && difference.empty(); ++step) difference = Step();
    for (bool more = true; more && difference.empty();) {
      ReadQueues();
      more = Must(stepper_->Step());
      difference = Collect();
    }
    if (difference.empty() && !texts_.empty()) difference = "a text has not ended";
    EndStepper();
    sessions_.clear();
    while (CoreOf(engine_).prefixes().EvictOldest()) {}
    const KvCache& cache = CoreOf(engine_).cache();
    if (difference.empty() && cache.free_slots() != cache.slots()) difference = "slots are lost";
    return difference.empty() ? "" : absl::StrCat("seed ", options_.seed, " step ", step, ": ", difference);
  }

  const Counts& counts() const { return counts_; }

 private:
  struct Text {
    StreamOptions asked;               // Without callbacks, flag and speculator.
    LoneText alone;
    std::unique_ptr<Speculator> speculator;
    std::unique_ptr<TextQueue> output;
    std::string read;                  // Read from `output`.
    std::atomic<bool> flag = false;
    StreamId id = 0;
    bool cancelled = false;
    int cancel_at = -1;                // The text cancels itself after this number of tokens.
    std::vector<TokenId> tokens;       // As in the callbacks.
    std::vector<uint32_t> logits;
    std::string shown;
    std::vector<absl::StatusOr<Generation>> ends;
  };

  int Any(int count) { return static_cast<int>(random_.Below(count)); }
  bool Once(int every) { return every > 0 && Any(every) == 0; }

  std::string Step() {
    if (texts_.empty() || (static_cast<int>(texts_.size()) < options_.texts && Any(3) == 0)) Begin();
    if (!texts_.empty() && Any(12) == 0) Cancel(*texts_[Any(static_cast<int>(texts_.size()))]);
    if (Once(options_.hook_every)) options_.hook(random_);
    if (Once(options_.restart_every)) NewStepper();
    std::string difference;
    if (Once(options_.session_every)) difference = OtherSession();
    if (!sessions_.empty() && Any(6) == 0) sessions_.erase(sessions_.begin());
    ReadQueues();
    const bool breaks = Once(options_.fault_every);
    if (breaks) options_.begin_fault(random_);
    Must(stepper_->Step().status());
    if (breaks) options_.end_fault();
    return difference.empty() ? Collect() : difference;
  }

  void EndStepper() {
    if (stepper_ == nullptr) return;
    const StepperReport& report = stepper_->report();
    counts_.passes += report.passes;
    counts_.most_texts = std::max(counts_.most_texts, report.most_texts);
    counts_.shared_tokens += report.shared_tokens;
    counts_.preempted += report.preempted;
    counts_.waited += report.waited;
    stepper_.reset();
    counts_.dropped += static_cast<int64_t>(texts_.size());
    for (const auto& text : texts_) EXPECT_TRUE(text->ends.empty()) << "a text that is dropped was told";
    texts_.clear();
  }

  void NewStepper() {
    EndStepper();
    stepper_ = Must(Stepper::Create(engine_, {.costs = &costs_, .most_texts = 1 + Any(16), .most_gap = 1 + Any(3) * 0.75,
                                              .keeps_prefixes = options_.keeps_prefixes, .clock = &clock_}));
  }

  // Stories 0 and 1 have the same prefix, and so do 2 and 3.
  std::vector<TokenId> AnyPrompt() {
    const uint64_t story = Any(4);
    const int length = 1 + Any(options_.longest);
    std::vector<TokenId> prompt;
    for (int i = 0; i < length; ++i) prompt.push_back(static_cast<TokenId>(CounterRandom(1, i < 24 ? story / 2 : story + 9, i) % 256));
    if (Any(2) == 0) prompt.back() = static_cast<TokenId>(Any(256));
    return prompt;
  }

  // Begins a text. Some texts begin with all tokens of another text, by Fork or as a plain prompt, and some with a part.
  void Begin() {
    auto text = std::make_unique<Text>();
    std::optional<StreamId> fork_of;
    std::vector<TokenId>& prompt = text->asked.prompt;
    std::vector<TokenId> more;
    if (!texts_.empty() && Any(3) == 0) {
      const Text& from = *texts_[Any(static_cast<int>(texts_.size()))];
      prompt = from.asked.prompt;
      prompt.insert(prompt.end(), from.tokens.begin(), from.tokens.end());
      if (Any(2) == 0) more.push_back(static_cast<TokenId>(Any(256)));
      const size_t context = engine_.context();
      if (Any(2) == 0 && prompt.size() + more.size() <= context) fork_of = from.id;
      else if (Any(2) == 0) prompt.resize(1 + Any(static_cast<int>(prompt.size())));
      prompt.insert(prompt.end(), more.begin(), more.end());
      prompt.resize(std::min(prompt.size(), context));
      ++counts_.forked;
    } else {
      prompt = AnyPrompt();
    }
    Choose(text->asked);
    text->alone = alone_.Write(text->asked);
    Submit(*text, fork_of, more);
    texts_.push_back(std::move(text));
    ++counts_.begun;
  }

  void Choose(StreamOptions& asked) {
    asked.adapter = options_.adapters[Any(static_cast<int>(options_.adapters.size()))];
    asked.sampling = {.temperature = Any(2) * 0.9f, .top_k = Any(2) * 20, .repetition_penalty = Any(4) == 0 ? 1.3f : 1.0f,
                      .seed = static_cast<uint64_t>(Any(100))};
    asked.text = {.max_tokens = Any(40) == 0 ? 0 : 1 + Any(20), .stream = static_cast<uint64_t>(Any(3)), .ignore_end = Any(2) == 0};
    if (asked.adapter == nullptr && Any(4) == 0) asked.text.stop = {std::string(2, static_cast<char>('a' + Any(26))), "q"};
  }

  void Submit(Text& text, std::optional<StreamId> fork_of, const std::vector<TokenId>& more) {
    StreamOptions options = text.asked;
    if (fork_of.has_value()) options.prompt = more;
    if (Any(4) == 0) text.output = std::make_unique<TextQueue>(/*most_bytes=*/1 + Any(5));
    options.output = text.output.get();
    text.speculator = AnySpeculator(text.alone.tokens);
    options.text.speculator = text.speculator.get();
    if (options_.siblings && Any(4) > 0) options.text.siblings = AnySet();
    if (!options_.predictors.empty() && text.speculator != nullptr && Any(4) > 0) options.text.prune = AnyPruning();
    options.cancel = &text.flag;
    text.cancel_at = Any(10) == 0 ? Any(12) : -1;
    options.text.on_text = [&text](absl::string_view more) { text.shown.append(more.data(), more.size()); };
    options.text.on_token = [this, &text](TokenId token, absl::Span<const float> logits) {
      text.tokens.push_back(token);
      text.logits.push_back(DigestOf(logits));
      if (static_cast<int>(text.tokens.size()) != text.cancel_at) return;
      text.cancelled = true;
      stepper_->Cancel(text.id);
    };
    options.on_end = [&text](const absl::StatusOr<Generation>& result) { text.ends.push_back(result); };
    text.id = fork_of.has_value() ? stepper_->Fork(*fork_of, std::move(options)) : stepper_->Submit(std::move(options));
  }

  std::unique_ptr<Speculator> AnySpeculator(const std::vector<TokenId>& right) {
    const int kind = Any(5), vocabulary = engine_.config().vocabulary;
    if (kind < 2) return nullptr;
    std::vector<std::unique_ptr<Drafter>> drafters;
    if (kind != 2) drafters.push_back(std::make_unique<RandomDrafter>(vocabulary, random_.Below(1000), right));
    if (kind != 3) drafters.push_back(std::make_unique<CalibratedTree>());   // Learns from prompts, too.
    if (options_.siblings) drafters.push_back(std::make_unique<SiblingsDrafter>());
    return std::make_unique<Speculator>(
        std::move(drafters), Speculator::Options{.max_rows = 1 + Any(10), .weigh_costs = Any(2) == 0, .costs = &costs_, .clock = &clock_});
  }

  std::shared_ptr<SharedHistory> AnySet() {
    std::shared_ptr<SharedHistory>& set = sets_[Any(2)];
    if (set == nullptr || Any(12) == 0) set = std::make_shared<SharedHistory>(room_);
    return set;
  }

  Pruning AnyPruning() {
    return {.predictor = options_.predictors[Any(static_cast<int>(options_.predictors.size()))],
            .rule = {.threshold = random_.Uniform(0, 1.2f), .temperature = 0.5f + static_cast<float>(Any(3)),
                     .with_shadow_tokens = Any(2) == 0, .with_safeguards = Any(2) == 0, .keep_ancestors = Any(2) == 0,
                     .keep_near_root = Any(3), .least_rows_left = Any(3)},
            .weigh_costs = Any(4) == 0};
  }

  void Cancel(Text& text) {
    text.cancelled = true;
    if (Any(2) == 0) text.flag = true;
    else stepper_->Cancel(text.id);
  }

  // Reads most full queues; all full queues if no other text could go on.
  void ReadQueues() {
    const auto full = [](const auto& text) { return text->output != nullptr && text->output->full(); };
    const bool all = std::all_of(texts_.begin(), texts_.end(), full);
    for (const auto& text : texts_) {
      if (full(text) && (all || Any(4) > 0)) text->read += text->output->Read().value();
    }
  }

  // Makes a session that holds a part of the cache for some steps, if there is room.
  std::string OtherSession() {
    std::vector<TokenId> tokens = AnyPrompt();
    auto session = Must(engine_.NewSession());
    const absl::Status status = session->Append(tokens);
    if (absl::IsResourceExhausted(status)) return "";
    Must(status);
    const bool right = DigestOf(session->logits()) == alone_.LogitsAfter(tokens);
    sessions_.push_back(std::move(session));
    ++counts_.sessions;
    return right ? "" : "a session's logits";
  }

  // Takes out the texts that have ended.
  std::string Collect() {
    std::string difference;
    for (const auto& text : texts_) {
      if (!text->ends.empty() && difference.empty()) difference = Difference(*text);
      if (!text->ends.empty() && text->speculator != nullptr) Count(text->speculator->report());
    }
    std::erase_if(texts_, [](const auto& text) { return !text->ends.empty(); });
    return difference;
  }

  void Count(const SpeculationReport& report) {
    counts_.drafted += report.drafted_steps;
    for (const SpeculationReport::Source& source : report.sources) {
      if (source.name == kSiblings) counts_.of_siblings += source.account.accepted;
    }
  }

  template <typename T>
  static bool Begins(const std::vector<T>& whole, const std::vector<T>& part) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
  }

  std::string Difference(Text& text) {
    const std::string name = absl::StrCat("text ", text.id, " of ", text.asked.prompt.size(), " tokens: ");
    if (text.ends.size() != 1) return absl::StrCat(name, "ended ", text.ends.size(), " times");
    if (!Begins(text.alone.tokens, text.tokens)) return name + "tokens";
    if (!Begins(text.alone.logits, text.logits)) return name + "logits";
    while (text.output != nullptr) {
      const std::optional<std::string> more = text.output->Read();
      if (!more.has_value()) break;
      text.read += *more;
    }
    if (text.output != nullptr && text.read != text.shown) return name + "text read from its queue";
    const absl::StatusOr<Generation>& end = text.ends[0];
    if (end.ok()) counts_.pruned += end->pruned.dropped;
    if (!end.ok()) return Allowed(end.status()) ? "" : absl::StrCat(name, end.status().ToString());
    if (end->tokens != text.tokens) return name + "result";
    if (end->text != text.shown) return name + "text shown";
    if (end->reason == FinishReason::kCancelled) {
      ++counts_.cancelled;
      return text.cancelled ? "" : name + "cancelled by nobody";
    }
    ++counts_.whole;
    if (end->tokens.size() != text.alone.tokens.size()) return name + "length";
    if (end->reason != text.alone.reason) return name + "reason";
    return text.asked.adapter == nullptr && end->text != text.alone.text ? name + "text" : "";
  }

  bool Allowed(const absl::Status& error) {
    if (absl::IsUnavailable(error)) return ++counts_.failed, options_.begin_fault != nullptr;
    return ++counts_.refused, absl::IsResourceExhausted(error) && !sessions_.empty();
  }

  Engine& engine_;
  LoneWriter& alone_;
  const Options options_;
  SeededRandom random_;
  const TickingClock clock_;
  CostProfile costs_;
  const std::shared_ptr<SharedHistory::Room> room_ = std::make_shared<SharedHistory::Room>(300);
  std::shared_ptr<SharedHistory> sets_[2];
  std::unique_ptr<Stepper> stepper_;
  std::vector<std::unique_ptr<Text>> texts_;
  std::vector<std::unique_ptr<Session>> sessions_;
  Counts counts_;
};

}  // namespace tessera
