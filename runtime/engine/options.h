// The options of an engine: a model file, and named parts for the device, the cache, the streaming of weights and the planned workload.
// Every field has a default.
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

// Arithmetic of the engine.
// kFast: packed weights and 8-bit activations on this CPU's best kernels.
// kReference: FP32 throughout, slow and plain; tests compare the fast path with this path.
// kNpu: the arithmetic of a phone's NPU, by its stated model (npu/hmx/hmx_device.h). Weights are quantized for the NPU's tiles. The matrix
// unit has FP16 inputs and outputs; attention is in FP16. The head has the fast path's bits.
enum class ComputePath { kFast, kReference, kNpu };

// Parses "fast", "reference" or "npu"; WrongUsage (path) for anything else.
absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name);
absl::string_view ComputePathName(ComputePath path);

// Parses "f16" (kHalf) or "q8" (kInt8); WrongUsage (kv_format) for anything else.
absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name);

// Options of the computation: threads, device, graphs and rows.
struct ComputeOptions {
  // Most threads. 0: one per fast core (ThreadsOf). Never more than the CPUs that this process may use; the engine looks the CPUs up before
  // each pass.
  int threads = 0;
  // An existing thread pool. The engine then neither makes nor resizes threads, and ignores `threads`. Must outlive the engine and its
  // sessions. Engines that share a pool must run one pass at a time: two passes at once from two threads end the process. Null: the engine
  // makes its own pool.
  ThreadPool* pool = nullptr;
  // Makes the device that runs the graphs. The device may use the engine's pool. Null: the device of `path`, `kernels` and the cache's
  // format.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(ThreadPool& pool)> make_device = nullptr;
  // Wraps the made device and returns the device to use, such as a ModeledDevice. The result must not outlive `made`. Null: as made.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(std::unique_ptr<Device> made)> wrap_device = nullptr;
  // Row counts for which each block is compiled besides the largest passes' count, ascending. Empty: 1, 8 and 64 for a device that computes
  // all rows of a graph, and none for other devices.
  std::vector<int> graph_rows = {};
  // Whether graphs of a packed model's layers hold the weights. Then loading a graph reads the graph's weights from the file
  // (model/reading_device.h), as set by StreamingOptions. Memory then holds one graph of each block if graphs are switched, else all graphs
  // of each block.
  bool graphs_hold_weights = false;
  // Switching between prefill and decode graphs, for a device that holds one graph of each block of layers at a time. The rows of both
  // graphs are among graph_rows; prefill_rows is the row count of a pass over a prompt. nullopt: graphs are loaded as the device has room.
  std::optional<SwitchingOptions> switching = {};
  // Options for choosing the blocks and rows of `switching` by the layers' times, measured or read from a file (prepare_switching.h). Set
  // `switching`, too: its values hold until the weights are loaded, and are then replaced by the choice. nullopt: `switching` stays as
  // given, and the caller calls GraphMotion::SetTimes.
  std::optional<SwitchWarmUp> warm_up = {};
  ComputePath path = ComputePath::kFast;
  // Forms of weights (WeightRecipe::Parse), only for kNpu or a device of make_device that wants tiles. Empty: the forms of a file that was
  // packed in tiles; for other files WeightRecipe::Default(), applied as the weights are loaded.
  std::string recipe = {};
  // Statistics of the model's activations, only for kNpu and a GGUF file. Scales are searched by the statistics as the weights are formed
  // (model/files/importance.h). Borrowed until weights are loaded. Null: none.
  const Importance* importance = nullptr;
  // Keys and values per block of attention, only for kNpu. A block begins at a multiple of `kv_block` in the sequence; bits depend on the
  // value. 0: 512. Else a multiple of 16, at most 4096.
  int kv_block = 0;
  // See KernelPathFromName. Only "auto" for the reference path, which has no such kernels.
  std::string kernels = "auto";
  // Most rows per pass. A longer prompt is cut into chunks, which changes no bit. 0: kDefaultRowCapacity, or fewer if a pass of that many
  // rows takes more than kDefaultScratch bytes, as in wide models.
  int row_capacity = 0;
};
inline constexpr int kDefaultRowCapacity = 512;
inline constexpr int64_t kDefaultScratch = int64_t{36} << 20;

// Options of the KV cache.
struct CacheOptions {
  // Positions of one sequence. 0: the context that the model was trained for, at most kDefaultContext. If a memory budget has no room for
  // that default, the context is the largest multiple of 256 that fits.
  int context = 0;
  // Positions of all sequences together, at least the context. 0: the context or, if more, text_share for each of Workload::sessions.
  // Several sessions may find the cache full; a scheduler's requests then wait.
  int cache_tokens = 0;
  int text_share = 0;   // Expected positions of one sequence, for cache_tokens 0. Capped at the context.
  // kHalf or kInt8. Must be kHalf for the reference path, which keeps FP32, and for kNpu.
  KvFormat kv_format = KvFormat::kHalf;
};
inline constexpr int kDefaultContext = 8192;
inline constexpr int kMostContext = 1 << 24;     // Also the bound of cache_tokens.
inline constexpr int kMostReservedSlots = 1 << 16;

// A memory budget, and the reading of a packed model (.tsr) that is larger than the budget: every pass reads the weights that are not
// pinned. The other fields apply only to a packed model under a budget. The fields from io to flash also apply to a model whose graphs hold
// the weights (ComputeOptions).
struct StreamingOptions {
  int64_t memory_budget = 0;  // Most bytes of the whole process, except code shared with others; 0: no limit.
  PinPolicy pin = PinPolicy::kAuto;
  IoKind io = IoKind::kAuto;
  // Effects of reading on the process (LayerStreamer::Options): fork once to find out about io_uring; run a thread before others.
  bool probe_in_child = false;
  bool raise_priority = false;
  VerifyPolicy verify = VerifyPolicy::kFirst;
  // Slows reads to the speed of this flash: a name or a file for LoadFlashProfile. Empty: reads are not slowed.
  std::string flash = {};
  // Wraps the source that streams the file by the plan, and returns the source to use, such as a ClockedSource. The wrapper's read times
  // are then on the engine's clock alone: steps are charged by that clock, and only the wrapper's own trace has the reads. Null: as made.
  std::function<std::unique_ptr<WeightSource>(std::unique_ptr<WeightSource> made, const TsrReader& file, const StreamPlan& plan)>
      wrap_source = nullptr;
};

// The work that the engine will be asked to do. Memory is planned for this work.
struct Workload {
  // Sequences at once. Layers with a sliding window have room for each sequence's window and the rows of a pass, not for the context. All
  // sessions share that room, so many short sequences take no more than few long ones. An Append that finds no room is ResourceExhausted.
  int sessions = 1;
  // Rows of logits that the plan provides for: one per session, kLogitRows more if AppendEach is used, and the rows of a draft. A budget
  // with no room for all rows gets fewer, but at least least_logit_rows (0: never fewer).
  int logit_rows = 1;
  int least_logit_rows = 0;
  // Whether AppendEach will be called. Under a budget the plan then computes more rows of logits at once if a pass then reads less: a
  // streamed head is read once for all rows of one call. The memory of the rows is taken from pinned weights.
  bool logits_of_each = false;
  // Returns the bytes that drafting takes, for a context and a vocabulary. Null: none.
  std::function<int64_t(int context, int vocabulary)> drafting_bytes = nullptr;
  // Returns the bytes that requests take for a context: a request that is read, tokens of sequences, answers that wait. Requests are
  // bounded by the result, so that a budget holds for every request (runtime/chat/request_limits.h). Null: none are planned.
  std::function<int64_t(int context)> request_bytes = nullptr;
  // Slots of the cache besides the sequences' slots: a prefix that forecasts see (placed_forecasts.h). 0 to kMostReservedSlots.
  int reserved_slots = 0;
  // Bytes of adapters that were read before the engine is opened; adapter_padding is the part that is only padding. A budget already counts
  // these bytes with the process's memory. Programs show the bytes separately.
  int64_t adapter_bytes = 0;
  int64_t adapter_padding = 0;
  int64_t adapter_room = 0;   // Most bytes of further adapters, which are read as requests name them.
};

// CPU work besides passes, which a modeled machine is charged for by amount: steps of drafting (all drafters together), and tokens of a
// prompt whose logits are sampled for drafters.
enum class CpuWork : uint8_t { kDraftSteps, kSampledTokens };

// The first layers of a model as a model of its own, in memory: a draft for the whole model. The last of these layers feeds the model's own
// norm and head.
struct FirstLayersOptions {
  int layers = 0;          // 0: all layers.
  std::string map = {};    // File with a map before the norm (model/exit_map.h). Empty: none. Not with layers = 0.
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
  // Times answers, drafts and draft costs: a modeled device's clock. Must outlive the engine. Null: real time.
  const Clock* clock = nullptr;
  // Receives CpuWork on the thread that does the work, so that a modeled device's clock advances by the amount. Sessions then belong to one
  // thread. Null: real time passes by itself.
  std::function<void(CpuWork work, int64_t amount)> spend = nullptr;
  // True ends loading, and every session's pass at the pass's next block. Append is then Cancelled, and Generate finishes with kCancelled.
  // May be set from any thread or signal handler. Must outlive the engine and its sessions. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  std::shared_ptr<const TestHooks> hooks = nullptr;  // For tests and comparisons. Null: none.
};

// Returns the threads of a pool that an engine makes: at most as many as AvailableCpus() finds now. 0 asks for one thread per fast core of
// these CPUs (processor_cores.h), at most as many as CpuQuota() allowed at the first call. WrongUsage (threads) out of range.
absl::StatusOr<int> ThreadsOf(const ComputeOptions& options);

// Returns a function for Speculator::Options::drafted, which spends a step of drafting. Null without `spend`.
std::function<void()> SpendDraftStep(const EngineOptions& options);

// Checks all options that need no model. WrongUsage (field) for the first wrong field.
absl::Status CheckOptions(const EngineOptions& options);

constexpr int kSessionLogitRows = 32;   // Rows of logits that a session holds at once, at least (Session::kLogitRows).

struct SessionOptions {
  // True ends a pass of this session at the pass's next block. Append is then Cancelled, and Generate finishes with kCancelled. May be set
  // from any thread or signal handler. Must outlive the session. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  // Adapter of all rows of the session, from the first to the last, since keys and values depend on the adapter. Must outlive the session.
  // Null: the model without an adapter.
  const LoraAdapter* adapter = nullptr;
};

}  // namespace tessera
