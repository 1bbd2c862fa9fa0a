// What an engine is made from: a model file, and named parts that say what computes, how much the cache holds, how weights are streamed
// and what memory is planned for. Every field has a default.
//
//   EngineOptions options = {.model_path = "model.gguf"};
//   options.compute.threads = 2;
//   options.cache.context = 4096;
//   options.streaming = {.memory_budget = int64_t{1} << 30, .pin = PinPolicy::kSpread};   // of a packed model
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Load(options));
//
// Options are values: copies are independent, and pointers in them are borrowed. Thread-compatible.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/clock.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/device.h"
#include "tessera/runtime/engine/switching/graph_motion.h"
#include "tessera/runtime/engine/switching/switch_profile.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/pin_plan.h"
#include "tessera/storage/verify_policy.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {

class Importance;
class LoraAdapter;
class TsrReader;
class WeightSource;
struct StreamPlan;

// How numbers are computed. kFast: packed weights and 8-bit activations on this CPU's best kernels. kReference: FP32 throughout, slow and
// plain; the fast path is tested against it. kNpu: as a phone's NPU computes, by its stated model (npu/hmx/hmx_device.h): weights quantized
// for its tiles, FP16 in and out of the matrix unit and in attention; the head has the fast path's bits.
enum class ComputePath { kFast, kReference, kNpu };

// "fast", "reference" or "npu"; WrongUsage (path) for anything else.
absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name);
absl::string_view ComputePathName(ComputePath path);

// "f16" (kHalf) or "q8" (kInt8); WrongUsage (kv_format) for anything else.
absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name);

// What computes.
struct ComputeOptions {
  // Most threads; 0: one per fast core, as ThreadsOf says. Never more than the CPUs this process may use: they are looked up before each
  // pass.
  int threads = 0;
  // Threads that are there already. The engine then neither makes nor resizes any, and ignores `threads`. Must outlive the engine and its
  // sessions. Engines that share a pool must make one pass at a time: two at once from two threads end the process. Null: the engine makes
  // its own pool.
  ThreadPool* pool = nullptr;
  // Makes the device that runs the graphs; it may use the engine's pool. Null: the device of `path`, `kernels` and the cache's format.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(ThreadPool& pool)> make_device = nullptr;
  // Takes the device that was made and gives the one to use, such as a ModeledDevice over it, which must not outlive it. Null: as made.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(std::unique_ptr<Device> made)> wrap_device = nullptr;
  // Rows that each block is compiled for besides those of the largest passes, ascending. Empty: 1, 8 and 64 for a device that computes all
  // rows of a graph, and none for others.
  std::vector<int> graph_rows = {};
  // Graphs of a packed model's layers hold their weights, which are read from the file as a graph is loaded (model/reading_device.h), as
  // StreamingOptions say. Then memory holds one graph of each block where graphs are switched, and all of them where they are not.
  bool graphs_hold_weights = false;
  // For a device that holds one graph of each block of layers at a time: when prefill and decode graphs change places. Rows of both are
  // among graph_rows, and prefill_rows those of a pass over a prompt. Nothing: graphs are loaded as the device has room.
  std::optional<SwitchingOptions> switching = {};
  // With `switching`, which holds until the weights are loaded: then blocks and rows are chosen by what layers take, measured or from a
  // file (prepare_switching.h). Nothing: `switching` is as it stands, and GraphMotion::SetTimes is the caller's.
  std::optional<SwitchWarmUp> warm_up = {};
  ComputePath path = ComputePath::kFast;
  // Only for kNpu, or a device of make_device that wants tiles: the forms of weights (WeightRecipe::Parse). Empty: those of a file that was
  // packed in tiles; else WeightRecipe::Default(), as the weights are loaded.
  std::string recipe = {};
  // Only for kNpu and a GGUF file: statistics of the model's activations, by which scales are searched as its weights are formed
  // (model/files/importance.h). Borrowed until weights are loaded. Null: none.
  const Importance* importance = nullptr;
  // Only for kNpu: keys and values per block of attention, which begins at a multiple of it in the text; bits depend on it. 0: 512. Else a
  // multiple of 16, at most 4096.
  int kv_block = 0;
  std::string kernels = "auto";  // See KernelPathFromName. The reference path has none: auto.
  // Most rows per pass: a longer prompt is cut, which changes no bit. 0: kDefaultRowCapacity, or fewer where a pass of that many rows
  // would take more than kDefaultScratch bytes, as it does in wide models.
  int row_capacity = 0;
};
inline constexpr int kDefaultRowCapacity = 512;
inline constexpr int64_t kDefaultScratch = int64_t{36} << 20;

// Keys and values.
struct CacheOptions {
  // Positions of one text. 0: what the model was trained for, at most kDefaultContext; under a memory budget without room for so many the
  // largest multiple of 256 that the budget has room for.
  int context = 0;
  // Positions of all texts together, at least the context. 0: the context or, if that is more, text_share for each of
  // Workload::sessions. Sessions of more than one text may find it full; a stepper's texts then wait.
  int cache_tokens = 0;
  int text_share = 0;   // Positions that a text is expected to take, for cache_tokens 0. More than the context count as the context.
  KvFormat kv_format = KvFormat::kHalf;  // kHalf or kInt8. kHalf for the reference path, which keeps FP32, and for kNpu.
};
inline constexpr int kDefaultContext = 8192;
inline constexpr int kMostContext = 1 << 24;     // The bound of cache_tokens, too.
inline constexpr int kMostReservedSlots = 1 << 16;

// A memory budget, and how a packed model (.tsr) that is larger is read from its file: every pass reads what is not pinned. The other
// fields apply only to a packed model under a budget; those from io to flash also to one whose graphs hold its weights (ComputeOptions).
struct StreamingOptions {
  int64_t memory_budget = 0;  // Most bytes of the whole process, not counting code shared with others; 0: no limit.
  PinPolicy pin = PinPolicy::kAuto;
  IoKind io = IoKind::kAuto;
  // What reading may do to the process, as LayerStreamer::Options has it: fork once to find out about io_uring, run a thread before others.
  bool probe_in_child = false;
  bool raise_priority = false;
  VerifyPolicy verify = VerifyPolicy::kFirst;
  std::string flash = {};     // Reads are slowed to this flash: a name or a file for LoadFlashProfile. Empty: they are not.
  // Takes the source that streams the file by the plan, and gives the one to use, such as a ClockedSource over it. What its reads take is
  // then on the engine's clock alone: steps are charged by that, and reads are in no trace but its own. Null: as made.
  std::function<std::unique_ptr<WeightSource>(std::unique_ptr<WeightSource> made, const TsrReader& file, const StreamPlan& plan)>
      wrap_source = nullptr;
};

// What the engine will be asked to do, so that memory is planned for it.
struct Workload {
  // Texts at once. Layers with a sliding window have room for so many: the window and the rows of a pass for each, not the context. All
  // sessions share that room, so many short texts take no more than few long ones. An Append that finds none is ResourceExhausted.
  int sessions = 1;
  // Rows of logits that the plan provides for: one per session, kLogitRows more if AppendEach is used, and the rows of a draft. Under a
  // budget with no room for all of them they are fewer, but at least least_logit_rows (0: never fewer).
  int logit_rows = 1;
  int least_logit_rows = 0;
  // AppendEach will be called. Under a budget the plan then holds more rows of logits at once where that makes a pass read less: a head
  // that is streamed is read once for all of them. Their memory is taken from what is pinned.
  bool logits_of_each = false;
  // Bytes that drafting takes, for a context and a vocabulary. Null: none.
  std::function<int64_t(int context, int vocabulary)> drafting_bytes = nullptr;
  // Bytes that requests take for a context: one that is read, tokens of texts, answers that wait. Requests are bounded by that, so that a
  // budget holds whatever is asked (runtime/chat/request_limits.h). Null: none are planned.
  std::function<int64_t(int context)> request_bytes = nullptr;
  // Slots of the cache besides those of texts: a prefix that forecasts see (placed_forecasts.h). 0 to kMostReservedSlots.
  int reserved_slots = 0;
  // Bytes of adapters that were read before the engine is opened, and those of them that are padding alone. They are a part of what the
  // process has, which a budget counts by itself; programs show them apart.
  int64_t adapter_bytes = 0;
  int64_t adapter_padding = 0;
  int64_t adapter_room = 0;   // Most that others will take beside them, which are read as texts name them.
};

// Work of the CPU beside passes, which a modeled machine is charged for by its amount: steps of drafting (all drafters together), and
// tokens of a prompt whose logits are sampled for them.
enum class CpuWork : uint8_t { kDraftSteps, kSampledTokens };

// The first layers of a model as a model of its own, in memory: a draft for the whole. What they make of a token goes to the model's own
// norm and head.
struct FirstLayersOptions {
  int layers = 0;          // 0: all of them.
  std::string map = {};    // Not with 0: a file with a map before the norm (model/exit_map.h). Empty: none.
};

struct TestHooks;  // test_hooks.h

struct EngineOptions {
  std::string model_path = {};
  FirstLayersOptions first = {};
  ComputeOptions compute = {};
  CacheOptions cache = {};
  StreamingOptions streaming = {};
  Workload workload = {};
  Timeline* timeline = nullptr;  // Null: nothing is recorded.
  // By which answers, drafts and their costs are timed: a modeled device's. Must outlive the engine. Null: real time.
  const Clock* clock = nullptr;
  // Told of CpuWork where it is done, on the thread that does it, so that a modeled device's clock goes on by it: with it, sessions belong
  // to one thread. Null: real time passes by itself.
  std::function<void(CpuWork work, int64_t amount)> spend = nullptr;
  // True ends loading, and every session's pass at its next block: Append is then Cancelled, and Generate finishes with kCancelled. May be
  // set from any thread or signal handler. Must outlive the engine and its sessions. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  std::shared_ptr<const TestHooks> hooks = nullptr;  // For tests and comparisons. Null: none.
};

// The threads of a pool that an engine makes: at most as many as AvailableCpus() finds now, and for 0 one for each fast core of these CPUs
// (processor_cores.h), at most as many as CpuQuota() found at first. WrongUsage (threads) out of range.
absl::StatusOr<int> ThreadsOf(const ComputeOptions& options);

// For Speculator::Options::drafted: spends a step of drafting. Null without `spend`.
std::function<void()> SpendDraftStep(const EngineOptions& options);

// Checks what can be checked without a model. WrongUsage (the field) of what is wrong.
absl::Status CheckOptions(const EngineOptions& options);

constexpr int kSessionLogitRows = 32;   // Rows of logits that a session holds at once, at least (Session::kLogitRows).

struct SessionOptions {
  // True ends a pass of this session at its next block: Append is then Cancelled, and Generate finishes with kCancelled. May be set from
  // any thread or signal handler. Must outlive the session. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  // All rows of the session have it, from the first to the last, since keys and values depend on it. Must outlive the session. Null: the
  // model as it is.
  const LoraAdapter* adapter = nullptr;
};

}  // namespace tessera
