#include "tessera/apps/bench/flash/streaming_speed.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/flash/share_budget.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/clock.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/plan/machine_probe.h"
#include "tessera/storage/flash_probe.h"
#include "tessera/storage/throttled_device.h"

namespace tessera {
namespace {

constexpr double kShares[] = {0.8, 0.5, 0.25};
constexpr int kPasses = 4;                                   // Passes that are timed at once.
constexpr int64_t kLeastProbe = int64_t{32} << 20, kMostProbe = int64_t{1} << 30;  // Bytes that each shape reads.
constexpr int64_t kWalks = 16;                               // A small file is read this many times instead.

using Samples = std::vector<double>;  // One per repetition.

double Now() { return static_cast<double>(RealClock().NowNanos()) * 1e-9; }

// Times passes of one row at the beginning of a context.
class PassClock {
 public:
  static absl::StatusOr<PassClock> Create(Engine& engine) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
    return PassClock(std::move(session));
  }

  // Times passes. The caller must leave out the first pass, which finds a ring that was filled meanwhile.
  absl::StatusOr<double> Time(int passes) {
    const TokenId token = 0;
    session_->Truncate(0);
    const double begin = Now();
    for (int i = 0; i < passes; ++i) RETURN_IF_ERROR(session_->Append({&token, 1}));
    return (Now() - begin) / passes;
  }

 private:
  explicit PassClock(std::unique_ptr<Session> session) : session_(std::move(session)) {}
  std::unique_ptr<Session> session_;
};

struct PassSamples {
  Samples probe, pass, compute, read, stall, bytes, of_probe, over_least, beside, beside_speed;
};

absl::StatusOr<ReadingOptions> ReadingLike(const EngineOptions& options, VerifyPolicy verify, int64_t ring_bytes) {
  ReadingOptions reading = {.io = options.streaming.io, .verify = verify, .ring_bytes = ring_bytes, .cancel = options.cancel};
  if (!options.streaming.flash.empty()) {
    ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile(options.streaming.flash));
    reading.wrap_device = [flash](std::unique_ptr<BlockDevice> device) {
      return std::make_unique<ThrottledDevice>(std::move(device), flash);
    };
  }
  return reading;
}

// One budget: the same model twice, streamed and in memory.
class BudgetClock {
 public:
  static absl::StatusOr<std::unique_ptr<BudgetClock>> Load(const EngineOptions& options) {
    std::unique_ptr<BudgetClock> clock(new BudgetClock());
    ASSIGN_OR_RETURN(clock->streamed_, Engine::Load(options));
    WarnOfShortages(*clock->streamed_);
    EngineOptions resident = options;
    resident.streaming.memory_budget = 0;
    ASSIGN_OR_RETURN(clock->resident_, Engine::Load(resident));
    ASSIGN_OR_RETURN(PassClock of_streamed, PassClock::Create(*clock->streamed_));
    ASSIGN_OR_RETURN(PassClock of_resident, PassClock::Create(*clock->resident_));
    clock->pass_.emplace(std::move(of_streamed));
    clock->compute_.emplace(std::move(of_resident));
    ASSIGN_OR_RETURN(ReadingOptions reading, ReadingLike(options, options.streaming.verify, clock->stats().ring_bytes));
    ASSIGN_OR_RETURN(clock->background_, BackgroundReader::Start(*clock->streamed_->model().file().packed(), reading));
    return clock;
  }

  LayerStreamer::Stats stats() const { return streamed_->model().streamer()->stats(); }
  const std::string& device_reason() const { return streamed_->model().streamer()->device_reason(); }

  absl::Status Repeat(double probe, PassSamples& samples) {
    RETURN_IF_ERROR(TimeStreamed(samples));
    ASSIGN_OR_RETURN(const double compute, TimeResident());
    samples.compute.push_back(compute);
    RETURN_IF_ERROR(TimeBesideReading(compute, samples));
    samples.probe.push_back(probe);
    const double pass = samples.pass.back();
    samples.of_probe.push_back(samples.bytes.back() / pass / probe);
    samples.over_least.push_back(pass / std::max(compute, static_cast<double>(stats().pass_bytes) / probe));
    return absl::OkStatus();
  }

 private:
  BudgetClock() = default;

  absl::Status TimeStreamed(PassSamples& samples) {
    RETURN_IF_ERROR(pass_->Time(1).status());
    const LayerStreamer::Stats before = stats();
    ASSIGN_OR_RETURN(const double seconds, pass_->Time(kPasses));
    const LayerStreamer::Stats after = stats();
    samples.pass.push_back(seconds);
    samples.bytes.push_back(static_cast<double>(after.bytes_read - before.bytes_read) / kPasses);
    samples.read.push_back(static_cast<double>(after.read_nanos - before.read_nanos) * 1e-9 / kPasses);
    samples.stall.push_back(static_cast<double>(after.stall_nanos - before.stall_nanos) * 1e-9 / kPasses);
    return absl::OkStatus();
  }

  absl::StatusOr<double> TimeResident() {
    RETURN_IF_ERROR(compute_->Time(1).status());
    return compute_->Time(kPasses);
  }

  // Times computing while as many bytes are read as the streamed passes would read, or as many as possible.
  absl::Status TimeBesideReading(double compute, PassSamples& samples) {
    const int64_t bytes = stats().pass_bytes * kPasses;
    background_->Allow(bytes);
    ASSIGN_OR_RETURN(const int64_t before, background_->bytes());
    ASSIGN_OR_RETURN(const double seconds, compute_->Time(kPasses));
    ASSIGN_OR_RETURN(const int64_t after, background_->bytes());
    background_->Forbid();
    samples.beside.push_back(seconds / compute);
    samples.beside_speed.push_back(static_cast<double>(after - before) / (seconds * kPasses));
    return absl::OkStatus();
  }

  std::unique_ptr<Engine> streamed_, resident_;
  std::optional<PassClock> pass_, compute_;
  std::unique_ptr<BackgroundReader> background_;
};

struct ProbedSpeed { double best, sequential; };  // Bytes per second.

// Probes the flash with as much memory as the streamer has. With a slower --flash, the result is at most the speed of --flash.
absl::StatusOr<ProbedSpeed> Probe(const EngineOptions& options, int64_t weight_bytes, int64_t ring_bytes) {
  ASSIGN_OR_RETURN(const FlashMeasurement measured,
                   MeasureFlash(options.model_path, {.io = options.streaming.io,
                                                     .probe_in_child = options.streaming.probe_in_child,
                                                     .raise_priority = options.streaming.raise_priority,
                                                     .bytes_per_shape = std::clamp(kWalks * weight_bytes, kLeastProbe, kMostProbe),
                                                     .buffer_bytes = ring_bytes,
                                                     .cancel = options.cancel}));
  ProbedSpeed speed = {measured.profile.Best().bytes_per_second, measured.sequential_bytes_per_second};
  if (options.streaming.flash.empty()) return speed;
  ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile(options.streaming.flash));
  const double most = flash.Best().bytes_per_second;
  return ProbedSpeed{std::min(speed.best, most), std::min(speed.sequential, most)};
}

std::vector<TokenId> PromptOf(int tokens, int vocabulary) {
  std::vector<TokenId> prompt(tokens);
  for (int i = 0; i < tokens; ++i) prompt[i] = static_cast<TokenId>(i % vocabulary);
  return prompt;
}

struct PromptTimes { double first = 0, second = 0; };

absl::StatusOr<PromptTimes> TimePrompts(Engine& engine, double begin) {
  const std::vector<TokenId> prompt = PromptOf(FirstPrompt::kTokens, engine.config().vocabulary);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  RETURN_IF_ERROR(session->Append(prompt));
  RETURN_IF_ERROR(engine.AwaitWeights(Engine::WeightsAre::kVerified));   // Weights are also verified before the first word of an answer.
  const double end = Now();
  RETURN_IF_ERROR(session->Append(prompt));
  return PromptTimes{.first = end - begin, .second = Now() - end};
}

// Times prompts with a new engine. Opening the engine does not count.
absl::StatusOr<PromptTimes> TimeStreamedPrompts(const EngineOptions& options, bool pins_first) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  const double begin = Now();
  RETURN_IF_ERROR(engine->LoadWeights());
  if (pins_first) RETURN_IF_ERROR(engine->AwaitWeights());
  return TimePrompts(*engine, begin);
}

absl::StatusOr<double> TimeResidentPrompt(EngineOptions options) {
  options.streaming.memory_budget = 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  RETURN_IF_ERROR(TimePrompts(*engine, Now()).status());  // Caches are cold, and threads asleep.
  ASSIGN_OR_RETURN(const PromptTimes times, TimePrompts(*engine, Now()));
  return times.first;
}

// The options, with a budget that does not count the memory that this process gained since the beginning.
class Budgeted {
 public:
  explicit Budgeted(const EngineOptions& options) : options_(options), own_(OwnMemoryBytes().value_or(0)) {}
  EngineOptions options() const {
    EngineOptions now = options_;
    now.streaming.memory_budget += std::max<int64_t>(0, OwnMemoryBytes().value_or(0) - own_);
    return now;
  }

 private:
  const EngineOptions options_;
  const int64_t own_;
};

absl::StatusOr<FirstPrompt> MeasureFirstPrompt(const Budgeted& budgeted, const StreamPlan& plan, int repetitions, int64_t weight_bytes) {
  struct { Samples compute, pins_first, pins_first_formula, now, formula, of_formulas, second; } samples;
  for (int i = 0; i < repetitions; ++i) {
    ASSIGN_OR_RETURN(const ProbedSpeed flash, Probe(budgeted.options(), weight_bytes, plan.ring_bytes));
    ASSIGN_OR_RETURN(const PromptTimes before, TimeStreamedPrompts(budgeted.options(), /*pins_first=*/true));
    ASSIGN_OR_RETURN(const PromptTimes now, TimeStreamedPrompts(budgeted.options(), /*pins_first=*/false));
    ASSIGN_OR_RETURN(const double compute, TimeResidentPrompt(budgeted.options()));
    const double pins = static_cast<double>(plan.pins.bytes) / flash.best, rest = static_cast<double>(plan.streamed_bytes) / flash.best;
    samples.compute.push_back(compute);
    samples.pins_first.push_back(before.first);
    samples.pins_first_formula.push_back(pins + std::max(compute, rest));
    samples.now.push_back(now.first);
    samples.formula.push_back(std::max(compute, pins + rest));
    samples.of_formulas.push_back(before.first / now.first * samples.formula.back() / samples.pins_first_formula.back());
    samples.second.push_back(now.second);
  }
  return FirstPrompt{.compute_seconds = MedianOf(samples.compute),
                     .pins_first_seconds = MedianOf(samples.pins_first),
                     .pins_first_formula = MedianOf(samples.pins_first_formula),
                     .seconds = MedianOf(samples.now),
                     .formula = MedianOf(samples.formula),
                     .of_formulas = MedianOf(samples.of_formulas),
                     .second_seconds = MedianOf(samples.second)};
}

absl::StatusOr<StreamPlan> StreamPlanOf(const EngineOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  ASSIGN_OR_RETURN(BudgetPlan plan, engine->planner().PlanBudget(options.streaming.memory_budget));
  if (plan.weights.pass_bytes > 0) return std::move(plan.weights);
  return WrongUsage("memory_budget", absl::StrCat(options.streaming.memory_budget, " bytes"),
                    "fewer: all weights fit, and nothing is streamed");
}

StreamedPasses Summary(const LayerStreamer::Stats& stats, const PassSamples& samples) {
  StreamedPasses passes = {.pinned_bytes = stats.pinned_bytes, .ring_bytes = stats.ring_bytes, .streamed_bytes = stats.pass_bytes};
  passes.bytes_read = MedianOf(samples.bytes);
  passes.probe = MedianOf(samples.probe);
  passes.pass_seconds = MedianOf(samples.pass);
  passes.compute_seconds = MedianOf(samples.compute);
  passes.read_seconds = MedianOf(samples.read);
  passes.stall_seconds = MedianOf(samples.stall);
  passes.of_probe = MedianOf(samples.of_probe);
  passes.over_least = MedianOf(samples.over_least);
  passes.beside_reading = MedianOf(samples.beside);
  passes.beside_bytes_per_second = MedianOf(samples.beside_speed);
  return passes;
}

// Probes that the whole measurement shares.
struct SharedSamples {
  Samples probe, sequential, probe_of_sequential, memory_read;
};

absl::StatusOr<StreamedPasses> MeasurePasses(const EngineOptions& options, int repetitions, const MachineProbe& machine,
                                             SharedSamples& shared, StreamingSpeed& speed, Progress& progress) {
  const Budgeted budgeted(options);
  ASSIGN_OR_RETURN(const StreamPlan plan, StreamPlanOf(options));
  ASSIGN_OR_RETURN(const FirstPrompt first, MeasureFirstPrompt(budgeted, plan, repetitions, speed.weight_bytes));
  ASSIGN_OR_RETURN(const std::unique_ptr<BudgetClock> clock, BudgetClock::Load(budgeted.options()));
  speed.device = clock->device_reason();
  PassSamples warm_up, samples;
  RETURN_IF_ERROR(clock->Repeat(1, warm_up));
  for (int i = 0; i < repetitions; ++i) {
    ASSIGN_OR_RETURN(const ProbedSpeed flash, Probe(options, speed.weight_bytes, clock->stats().ring_bytes));
    shared.probe.push_back(flash.best);
    shared.sequential.push_back(flash.sequential);
    shared.probe_of_sequential.push_back(flash.best / flash.sequential);
    shared.memory_read.push_back(machine.Read());
    RETURN_IF_ERROR(clock->Repeat(flash.best, samples));
    progress.Update(static_cast<int64_t>(shared.probe.size()));
  }
  StreamedPasses passes = Summary(clock->stats(), samples);
  passes.first = first;
  return passes;
}

absl::Status MeasureAlone(const TsrReader& file, const EngineOptions& options, int repetitions, StreamingSpeed& speed) {
  constexpr VerifyPolicy kPolicies[] = {VerifyPolicy::kNever, VerifyPolicy::kFirst, VerifyPolicy::kAlways};
  struct PolicySamples { Samples speed, core_share, of_probe; } samples[std::size(kPolicies)];
  const int64_t ring = speed.passes.front().ring_bytes;
  for (int i = 0; i < repetitions; ++i) {
    ASSIGN_OR_RETURN(const ProbedSpeed flash, Probe(options, speed.weight_bytes, ring));
    for (size_t p = 0; p < std::size(kPolicies); ++p) {
      ASSIGN_OR_RETURN(ReadingOptions reading, ReadingLike(options, kPolicies[p], ring));
      reading.least_bytes = std::clamp(speed.weight_bytes, kLeastProbe, int64_t{1} << 30);
      ASSIGN_OR_RETURN(const ReadingSpeed read, TimeReading(file, reading));
      samples[p].speed.push_back(read.bytes_per_second);
      samples[p].core_share.push_back(read.core_share);
      samples[p].of_probe.push_back(read.bytes_per_second / flash.best);
    }
  }
  for (size_t p = 0; p < std::size(kPolicies); ++p) {
    speed.alone.push_back({kPolicies[p], {MedianOf(samples[p].speed), MedianOf(samples[p].core_share)}, MedianOf(samples[p].of_probe)});
  }
  return absl::OkStatus();
}

}  // namespace

double StreamedPasses::Balance() const {
  return std::min(compute_seconds, ReadAtProbe()) / std::max(compute_seconds, ReadAtProbe());
}

double StreamedPasses::MostOverLeast() const { return Balance() < 0.6 ? 1.08 : Balance() >= 0.8 ? 1.25 : 0; }

double StreamedPasses::LeastOfProbe() const { return BoundByReading() && Balance() < 0.6 ? 0.95 : 0; }

absl::StatusOr<StreamingSpeed> MeasureStreaming(const EngineOptions& options, int repetitions) {
  StreamingSpeed speed;
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(options.model_path));
  if (file->packed() == nullptr) {
    return WrongUsage("model", options.model_path, "a packed model (tessera_pack)");
  }
  for (int unit = 0; unit < file->packed()->units(); ++unit) speed.weight_bytes += file->packed()->StoredBytes(unit);
  std::vector<double> shares(std::begin(kShares), std::end(kShares));
  if (options.streaming.memory_budget != 0) {
    shares = {0};
    ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
    // A budget is refused here, like in any other program, before the probe takes memory.
    RETURN_IF_ERROR(engine->planner().PlanBudget(options.streaming.memory_budget).status());
  }
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(options.compute));
  ASSIGN_OR_RETURN(const KernelPath path, KernelPathFromName(options.compute.kernels));
  const int64_t own_before = OwnMemoryBytes().value_or(0);  // A budget is refused if this memory is not known.
  ThreadPool pool(threads);
  ASSIGN_OR_RETURN(const MachineProbe machine, MachineProbe::Create(pool, path));
  SharedSamples shared;
  Progress progress("repetitions", repetitions * static_cast<int64_t>(shares.size()));
  for (const double share : shares) {
    EngineOptions of_share = options;
    of_share.streaming.memory_budget += OwnMemoryBytes().value_or(0) - own_before;  // The probe's memory does not count for the model.
    if (share > 0) {
      ASSIGN_OR_RETURN(of_share.streaming.memory_budget, BudgetForShare(options, share));
    }
    ASSIGN_OR_RETURN(StreamedPasses passes, MeasurePasses(of_share, repetitions, machine, shared, speed, progress));
    passes.share = share;
    passes.budget_bytes = share > 0 ? of_share.streaming.memory_budget : options.streaming.memory_budget;
    speed.passes.push_back(passes);
  }
  RETURN_IF_ERROR(MeasureAlone(*file->packed(), options, repetitions, speed));
  speed.probe = MedianOf(shared.probe);
  speed.sequential = MedianOf(shared.sequential);
  speed.probe_of_sequential = MedianOf(shared.probe_of_sequential);
  speed.memory_read = MedianOf(shared.memory_read);
  return speed;
}

}  // namespace tessera
