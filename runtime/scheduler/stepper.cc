#include "tessera/runtime/scheduler/stepper.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/internal/stepper_impl.h"
#include "tessera/runtime/scheduler/text_queue.h"
#include "tessera/runtime/session/measure_costs.h"

namespace tessera {
namespace {

// A prefix that another request computes is awaited if that prefix has at least this many tokens more than the cached one.
constexpr int kWorthWaiting = 16;
constexpr int kMeasuredRows = 16;
constexpr auto kPause = std::chrono::milliseconds(50);   // Then flags are checked, since flags wake no thread.

absl::Status Check(const StepperOptions& options) {
  if (options.most_texts < 1) return WrongUsage("most_texts", options.most_texts, "1 or more");
  if (!(options.most_gap >= 1)) return WrongUsage("most_gap", options.most_gap, "1 or more");
  if (!(options.measure_seconds >= 0)) return WrongUsage("measure_seconds", options.measure_seconds, "0 or more");
  return absl::OkStatus();
}

// Points to the hold of the core during a step.
class HoldPointer {
 public:
  HoldPointer(EngineCore::Hold*& pointer, EngineCore::Hold& hold) : pointer_(pointer) { pointer_ = &hold; }
  ~HoldPointer() { pointer_ = nullptr; }

 private:
  EngineCore::Hold*& pointer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stepper>> Stepper::Create(Engine& engine, const StepperOptions& options) {
  RETURN_IF_ERROR(Check(options));
  std::shared_ptr<EngineCore> core = SharedCoreOf(engine);
  if (!core->is_loaded()) return absl::FailedPreconditionError("stepper: found no weights, expected LoadWeights before");
  ASSIGN_OR_RETURN(std::unique_ptr<Session> empty, engine.NewSession());
  return core->Guarded([&]() -> absl::StatusOr<std::unique_ptr<Stepper>> {
    return std::unique_ptr<Stepper>(new Stepper(std::make_unique<Impl>(core, std::move(empty), options)));
  });
}

Stepper::Stepper(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stepper::~Stepper() = default;
StreamId Stepper::Submit(StreamOptions options) { return impl_->Submit(std::move(options)); }
StreamId Stepper::Fork(StreamId stream, StreamOptions options) { return impl_->Submit(std::move(options), stream); }
void Stepper::Cancel(StreamId stream) { impl_->Cancel(stream); }
absl::StatusOr<bool> Stepper::Step() { return impl_->Step(); }
const StepperReport& Stepper::report() const { return impl_->report(); }

Stepper::Impl::Impl(std::shared_ptr<EngineCore> core, std::unique_ptr<Session> empty, const StepperOptions& options)
    : core_(std::move(core)), options_(options), unmeasured_(std::move(empty)),
      costs_(options.costs != nullptr ? *options.costs : own_costs_),
      pass_(*core_, GivenOrRealClock(options.clock != nullptr ? options.clock : core_->options().clock)) {}

Stepper::Impl::~Impl() {
  for (const Text& text : running_) DropOutput(text);
  for (const Text& text : waiting_) DropOutput(text);
  for (const Submitted& submitted : submissions_.Take().submitted) {
    if (submitted.options.output != nullptr) submitted.options.output->End();
  }
  const EngineCore::Hold hold = core_->AwaitHold();
  if (!core_->health().ok()) {
    for (Text& text : running_) text.stream->Abandon();
    for (Text& text : waiting_) text.stream->Abandon();   // Memory may have ended when a request was admitted.
  }
  // The callers' callbacks end after this, when the core is not held.
  for (Text& text : running_) text.stream->TakeText();
}

void Stepper::Impl::DropOutput(const Text& text) {
  TextQueue* const output = text.stream->options().output;
  if (output != nullptr && !text.stream->ended()) output->End();
}

StreamId Stepper::Impl::Submit(StreamOptions options, std::optional<StreamId> fork_of) {
  if (options.output != nullptr) options.output->OnRoom([news = news_] { news->Tell(); });
  const StreamId id = submissions_.Add(std::move(options), fork_of);
  news_->Tell();
  return id;
}

void Stepper::Impl::Cancel(StreamId stream) {
  submissions_.Cancel(stream);
  news_->Tell();
}

absl::Status Stepper::Run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool more, Step());
    if (!more) return absl::OkStatus();
  }
}

absl::StatusOr<bool> Stepper::Impl::Step() {
  if (hold_ != nullptr) return absl::FailedPreconditionError("Step: found a call within a callback of a step, expected it to end first");
  news_->Clear();
  all_paused_ = false;
  const absl::StatusOr<bool> more = core_->Guarded([&]() -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(MeasureCostsOnce());
    ASSIGN_OR_RETURN(EngineCore::Hold hold, core_->AwaitTurn());
    const HoldPointer pointer(hold_, hold);
    return StepHeld();
  });
  ended_.clear();
  refused_.clear();
  if (more.ok() && all_paused_) news_->Await(kPause);
  return more;
}

// Measures costs before the first pass. Costs that cannot be measured are learnt later: an error of measuring ends no request, unless
// memory ends.
absl::Status Stepper::Impl::MeasureCostsOnce() {
  const std::unique_ptr<Session> session = std::move(unmeasured_);
  if (session == nullptr || costs_.KnowsPlain()) return absl::OkStatus();
  MeasureCosts(*session, {options_.measure_seconds, kMeasuredRows, options_.clock}, costs_).IgnoreError();
  return core_->health();
}

absl::StatusOr<bool> Stepper::Impl::StepHeld() {
  Submissions::Taken taken = submissions_.Take();
  const bool had_any = !taken.submitted.empty() || !running_.empty() || !waiting_.empty();
  TakeUp(std::move(taken.submitted));
  EndCancelled(taken.cancelled);
  RETURN_IF_ERROR(core_->health());
  Admit();
  RETURN_IF_ERROR(core_->health());
  while (!running_.empty()) {
    StepPlan plan = PlanStep(*core_, Streams(), costs_, {.most_gap = options_.most_gap, .turn = static_cast<size_t>(report_.passes)});
    all_paused_ = plan.parts.empty();
    if (all_paused_) break;
    const bool has_room = MakeRoom(plan);
    RETURN_IF_ERROR(core_->health());
    if (!has_room) continue;
    RETURN_IF_ERROR(RunPlan(plan));
    break;
  }
  RemoveEnded();
  return had_any;
}

void Stepper::Impl::TakeUp(std::vector<Submitted> all) {
  for (Submitted& submitted : all) {
    absl::StatusOr<std::unique_ptr<Stream>> stream = MakeStream(submitted);
    if (!stream.ok()) {
      const StreamOptions& refused = refused_.emplace_back(std::move(submitted.options));
      if (refused.output != nullptr) refused.output->End();
      if (refused.on_end) Unheld([&] { refused.on_end(stream.status()); });
      continue;
    }
    waiting_.push_back({submitted.id, PrefixIndex::KeyOf((*stream)->options().adapter), *std::move(stream)});
  }
}

absl::StatusOr<std::unique_ptr<Stream>> Stepper::Impl::MakeStream(Submitted& submitted) {
  if (!submitted.fork_of.has_value()) return Stream::Create(*core_, std::move(submitted.options));
  const auto is_it = [&](const Text& text) { return text.id == *submitted.fork_of && !text.stream->ended(); };
  std::vector<TokenId> tokens;
  if (const auto running = std::find_if(running_.begin(), running_.end(), is_it); running != running_.end()) {
    tokens = running->stream->AllTokens();
  } else if (const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), is_it); waiting != waiting_.end()) {
    tokens = waiting->stream->AllTokens();
  } else {
    return absl::NotFoundError(absl::StrCat("fork: found no text ", *submitted.fork_of, ", expected one that has not ended"));
  }
  submitted.options.prompt.insert(submitted.options.prompt.begin(), tokens.begin(), tokens.end());
  return Stream::Create(*core_, std::move(submitted.options));
}

void Stepper::Impl::EndCancelled(const absl::flat_hash_set<StreamId>& cancelled) {
  const auto end = [&](Text& text) {
    const std::atomic<bool>* const flag = text.stream->options().cancel;
    if (cancelled.contains(text.id) || (flag != nullptr && flag->load())) End(text, absl::CancelledError(""));
  };
  for (Text& text : running_) end(text);
  for (Text& text : waiting_) end(text);
  RemoveEnded();
}

// Admits requests in order, so that short requests do not overtake a long request for ever.
void Stepper::Impl::Admit() {
  for (size_t turn = 0; turn < waiting_.size() && static_cast<int>(running_.size()) < options_.most_texts;) {
    Text& next = waiting_[turn];
    // The prefix comes soon, and then the request needs less room.
    if (!running_.empty() && AwaitsPrefix(next)) {
      ++turn;
      continue;
    }
    const bool all_paused = AllPaused();
    if (!running_.empty() && ((awaits_end_ && !all_paused) || !HasRoomFor(next))) {
      // The request waits for no reader.
      if (all_paused && !next.stream->paused() && PreemptPaused()) continue;
      Unheld([&] { report_.waited += next.stream->TellWaits() ? 1 : 0; });
      return;
    }
    Text text = std::move(next);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(turn));
    Start(std::move(text));
  }
}

void Stepper::Impl::Start(Text text) {
  std::unique_ptr<CachedText> begun = TakePrefix(text);
  if (begun != nullptr) report_.shared_tokens += begun->held();
  text.stream->Start(std::move(begun));
  running_.push_back(std::move(text));
}

bool Stepper::Impl::AllPaused() const {
  return !running_.empty() && std::all_of(running_.begin(), running_.end(), [](const Text& text) { return text.stream->paused(); });
}

// Returns whether the cache has room for: the pending tokens of all running requests, one more row of each, and this request's tokens that
// no running request shares. Cached prefixes count as room. Layers with windows give up positions behind the window as a sequence grows:
// then only the other layers need room for all tokens.
bool Stepper::Impl::HasRoomFor(const Text& text) const {
  int64_t wanted = static_cast<int64_t>(text.stream->tokens().size()) + 1 - LongestRunning(text);
  for (const Text& other : running_) wanted += other.stream->pending() + 1;
  const KvCache& cache = core_->cache();
  const int most = static_cast<int>(std::min<int64_t>(wanted, std::numeric_limits<int>::max()));
  return std::max(cache.free_slots(), cache.RoomFor(most)) + core_->prefixes().held() >= wanted;
}

// Returns whether a running request computes a longer prefix of this request than the cache holds.
bool Stepper::Impl::AwaitsPrefix(const Text& text) const {
  const absl::Span<const TokenId> tokens = text.stream->tokens();
  const int there = std::max(core_->prefixes().Longest(tokens, text.adapter), LongestRunning(text));
  return std::any_of(running_.begin(), running_.end(), [&](const Text& other) {
    return other.adapter == text.adapter && CommonPrefix(other.stream->tokens(), tokens) >= there + kWorthWaiting;
  });
}

std::vector<Stepper::Impl::Prefix> Stepper::Impl::RunningPrefixes(const Text& text) const {
  const absl::Span<const TokenId> tokens = text.stream->tokens();
  std::vector<Prefix> prefixes;
  for (const Text& other : running_) {
    if (other.adapter != text.adapter) continue;
    const int common = std::min({CommonPrefix(other.stream->tokens(), tokens), other.stream->text().held(),
                                 static_cast<int>(tokens.size()) - 1});
    if (common > 0) prefixes.push_back({&other.stream->text(), common});
  }
  std::stable_sort(prefixes.begin(), prefixes.end(), [](const Prefix& a, const Prefix& b) { return a.length > b.length; });
  return prefixes;
}

int Stepper::Impl::LongestRunning(const Text& text) const {
  const std::vector<Prefix> prefixes = RunningPrefixes(text);
  return prefixes.empty() ? 0 : prefixes.front().length;
}

// Takes the longest extendable prefix that an ended request left or that a running request has. Windows may have been given up.
std::unique_ptr<CachedText> Stepper::Impl::TakePrefix(const Text& text) {
  std::unique_ptr<CachedText> begun = core_->prefixes().Take(text.stream->tokens(), text.adapter);
  for (const Prefix& running : RunningPrefixes(text)) {
    if (begun != nullptr && running.length <= begun->length()) break;
    if (std::unique_ptr<CachedText> fork = ForkPrefix(*running.text, running.length); fork != nullptr) return fork;
  }
  return begun;
}

std::vector<Stream*> Stepper::Impl::Streams() const {
  std::vector<Stream*> streams;
  for (const Text& text : running_) streams.push_back(text.stream.get());
  return streams;
}

bool Stepper::Impl::MakeRoom(StepPlan& plan) {
  if (const int room = core_->RoomFor(plan.rows()); room < plan.rows()) plan.Shrink(room);
  if (plan.rows() > 0 && core_->MakeRoom(plan.rows()).ok()) return true;
  if (running_.size() > 1) PreemptYoungest();
  else EndWithoutRoom();
  return false;
}

void Stepper::Impl::EndWithoutRoom() {
  const CachedText& text = running_.front().stream->text();
  const int wanted = std::max(text.length(), text.held() + 1);
  End(running_.front(),
      LimitedBy("cache_tokens", absl::ResourceExhaustedError(absl::StrCat("stream: found room for ", text.held(), " tokens in the cache ",
                                                                          "beside other sessions of the engine, expected for ", wanted))));
  RemoveEnded();
}

void Stepper::Impl::PreemptYoungest() {
  if (PreemptPaused()) return;
  Preempt(running_.end() - 1, /*keeps_turn=*/true);
  awaits_end_ = true;
}

bool Stepper::Impl::PreemptPaused() {
  const auto paused = std::find_if(running_.rbegin(), running_.rend(), [](const Text& text) { return text.stream->paused(); });
  if (paused == running_.rend()) return false;
  Preempt(paused.base() - 1, /*keeps_turn=*/false);
  return true;
}

void Stepper::Impl::Preempt(std::vector<Text>::iterator text, bool keeps_turn) {
  text->stream->Preempt();
  waiting_.insert(keeps_turn ? waiting_.begin() : waiting_.end(), std::move(*text));
  running_.erase(text);
  ++report_.preempted;
}

}  // namespace tessera
