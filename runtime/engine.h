// A loaded model, ready to run: file, tokenizer, weights, device, cache and threads, put together from a few options.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Load({.model_path = "model.gguf", .threads = 2}));
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
//   absl::Span<const float> next = session->logits();             // after the last token
//
// Threads: an engine and its sessions are used from one thread at a time, but for ShrinkMemory; the pool behind them is theirs alone.
// Sessions must end before their engine. Errors name the file or option, the value found and the value expected.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/weights.h"
#include "tessera/model/forward.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/npu/device.h"
#include "tessera/runtime/weight_plan.h"
#include "tessera/spec/token_tree.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

// How numbers are computed. kFast: packed weights and 8-bit activations on this CPU's best kernels. kReference: FP32 throughout,
// slow and plain, the yardstick for the fast path.
enum class ComputePath { kFast, kReference };

// "f16" (kHalf) or "q8" (kInt8); WrongUsage (kv_format) for anything else.
absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name);

// "fast" or "reference"; WrongUsage (path) for anything else.
absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name);

struct EngineOptions {
  std::string model_path;
  int threads = 0;                   // At most; 0: one for each CPU. Never more than there are CPUs to run on (ThreadsOf).
  int context = 0;                   // Positions of all sessions together; 0: what the model was trained for, at most kDefaultContext.
  ComputePath path = ComputePath::kFast;
  std::string kernels = "auto";      // See KernelPathFromName.
  KvFormat kv_format = KvFormat::kHalf;  // Format of keys and values: kHalf or kInt8. The reference path keeps FP32.
  // Most rows of a pass: a longer prompt is cut, which changes no bit. 0: kDefaultRowCapacity, but fewer where a pass of so many would take
  // more than kDefaultScratch bytes, as it does in wide models.
  int row_capacity = 0;
  // Layers with a sliding window have room for so many sessions at once: for each the window and the rows of a pass, not the context.
  // All sessions share it, so many short ones take no more than few long ones; an Append that finds no room there is ResourceExhausted.
  int sessions = 1;
  bool compact_drafts = true;        // Accepted branches of drafts move to where the text's other slots are. No bit depends on it.
  // Rows of logits that are held at once, a session's own included: kLogitRows more for AppendEach, as many more as a draft has rows. For
  // memory plans alone. Under a budget that has no room for them they are fewer, but no fewer than least_logit_rows (0: not fewer).
  int logit_rows = 1;
  int least_logit_rows = 0;
  // AppendEach will be called. Under a budget it holds more rows of logits at once where that makes a pass read less: a head that is
  // streamed is read once for all of them, but their memory is taken from what is pinned.
  bool logits_of_each = false;
  // What drafting takes besides, for a context and a vocabulary: for memory plans alone. Null: nothing.
  std::function<int64_t(int context, int vocabulary)> drafting_bytes;
  // Most bytes of memory for the whole process, but for code that it shares with others; 0: what it takes. A packed model (.tsr) that
  // is larger is streamed from its file, in every pass as far as it is not pinned.
  int64_t memory_budget = 0;
  // These six count under a budget alone, and for packed models.
  PinPolicy pin = PinPolicy::kAuto;
  IoKind io = IoKind::kAuto;
  // What reading may do to the process, as LayerStreamer::Options has it: fork once to find out about io_uring, run a thread before others.
  bool probe_in_child = false;
  bool raise_priority = false;
  VerifyPolicy verify = VerifyPolicy::kFirst;
  std::string flash;                 // Reads are no faster than this flash: a name or file for LoadFlashProfile. Empty: as they are.
  // Wraps the device that a streamed model is read with: for tests that make it fail. Null: the device as it is.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device;
  // Where a packed model's weights come from under a budget: to compare with other ways of streaming. Null: a LayerStreamer.
  std::function<absl::StatusOr<std::unique_ptr<WeightSource>>(const TsrReader& file, const StreamPlan& plan)> open_source;
  uint64_t scatter_seed = 0;         // See KvCache::Options: for tests.
  // LoadWeights will follow Open, as it does in Load: where all weights of a packed model stay in memory, threads of their own read
  // them from then on, while the header is parsed and the tokenizer made.
  bool loads_weights = false;
  // Where they are given, they must outlive the engine. A given pool is never resized, and `threads` then changes nothing. A given
  // device computes in place of one by `path`, `kernels` and `kv_format`; its format of keys and values counts.
  ThreadPool* pool = nullptr;        // Null: the engine has its own, which follows the CPUs that it may run on.
  Device* device = nullptr;          // Null: the engine has its own.
  Timeline* timeline = nullptr;      // Null: nothing is recorded.
  // True ends a pass at its next block: Append is then Cancelled, and Generate finishes so. May be set from anywhere, a signal
  // handler included. Must outlive the engine. Null: never.
  const std::atomic<bool>* cancel = nullptr;
};
constexpr int kDefaultContext = 8192;
constexpr int kDefaultRowCapacity = 512;
constexpr int64_t kDefaultScratch = int64_t{36} << 20;

// The threads an engine of these options computes with: at most as many as AvailableCpus() finds now. WrongUsage
// (threads) out of range.
absl::StatusOr<int> ThreadsOf(const EngineOptions& options);
// The positions its sessions have together; WrongUsage (context) out of range.
absl::StatusOr<int> ContextOf(const EngineOptions& options, const ModelConfig& config);

// Where an engine's memory goes, in bytes, once a pass has had all its rows and the context is full. Besides, there are the
// program, the tokenizer and the file's metadata, for each session a row of logits, and what drafting takes.
struct EngineMemory {
  int64_t weights = 0;        // As the path has them: all, or pins and ring where they are streamed.
  int64_t cache = 0;          // Keys and values.
  int64_t graphs = 0;         // What the device computes in.
  int64_t hidden_states = 0;  // Between blocks.
  int64_t Total() const { return weights + cache + graphs + hidden_states; }
};

// How a memory budget is spent.
struct BudgetPlan {
  int64_t budget = 0;
  int64_t least = 0;          // A budget that works, in the next run too: whole MiB, one or two more than are needed now.
  int64_t process = 0;        // What the process had when this was planned: tokenizer, metadata, the program's own.
  int logit_rows = 0;         // EngineOptions::logit_rows, or as many as there is room for, or more for logits_of_each,
  int64_t logits = 0;         // and their bytes.
  int64_t drafting = 0;
  int64_t reserve = 0;        // For what is not counted: stacks, lists of a pass, what an allocator rounds up.
  EngineMemory memory;        // With the weights' share.
  StreamPlan weights;
  int64_t Total() const { return process + logits + drafting + reserve + memory.Total(); }
};

class Session;

class Engine {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Load(const EngineOptions& options);

  // The same in two steps, so that a caller can learn or refuse things before weights are read. After Open there are file, config, layout,
  // tokenizer, context and threads. LoadWeights, called once, makes what sessions need. Weights of a packed model that stay in memory are
  // still being read when it returns: the first passes wait for the weights that they need, and return the error of those that cannot be
  // read. CheckWeights waits until all are read: for a caller that wants such an error before anything else. AwaitWeights waits until
  // they are also in their final place, as Load does: for a caller that times passes.
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  absl::Status LoadWeights();
  // REQUIRES for all three: the weights are loaded, or being read.
  absl::Status CheckWeights();
  absl::Status AwaitWeights();
  double loading_seconds() const;  // Time that passes have lost so far because weights were not read yet.

  // What all of it takes in memory, weights included, with a context that is full. Allocates nothing.
  absl::StatusOr<EngineMemory> PlanMemory() const;
  int64_t PlanLogits() const { return options_.logit_rows * LogitRowBytes(); }
  int64_t PlanDrafting() const;   // EngineOptions::drafting_bytes of this model and context.
  // REQUIRES: the weights are loaded.
  EngineMemory memory() const;
  // How `budget` bytes would be spent, with options().pin. If the model cannot be streamed, the least budget has room for all its weights.
  // ResourceExhausted (found, expected) if the budget is too small.
  absl::StatusOr<BudgetPlan> PlanBudget(int64_t budget) const;
  // Makes a streamed model smaller when the system wants memory back: gives up pins until all fits into `budget` bytes, and returns the
  // plan as it is then. Weights that lost their pin are read in every pass from now on. Sessions keep their keys and values, and every bit
  // that they give stays the same. May be called at any time, from any thread, during a pass, too: memory that is leased is given back when
  // the lease ends. Pins never come back, and a budget that is not smaller changes nothing. ResourceExhausted (found, expected), with
  // nothing changed, if the budget is below the least that works. This least has no pins; but if all weights were pinned, there is no ring,
  // and only a table of which passes read parts can lose its pin. FailedPrecondition if the model is not streamed. REQUIRES: the weights
  // are loaded.
  absl::StatusOr<BudgetPlan> ShrinkMemory(int64_t budget);
  // Rows of logits that may be computed at once beside a session's own: Session::kLogitRows, or what a budget's plan has. At least 1.
  int logits_at_once() const { return logits_at_once_; }
  // Null if all weights are in memory without a budget.
  const LayerStreamer* streamer() const { return streamer_; }
  // Whether passes read weights as they go: not all are pinned.
  bool streams() const { return streamer_ != nullptr && streamer_->stats().streamed_bytes > 0; }

  const EngineOptions& options() const { return options_; }
  const ModelFile& model_file() const { return *file_; }
  const GgufFile& file() const { return file_->gguf(); }
  const ModelConfig& config() const { return config_; }
  const WeightLayout& layout() const { return layout_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  int context() const { return context_; }
  KvFormat kv_format() const { return device_->kv_format(); }  // As the path has it.
  int threads() const { return pool_->threads(); }  // Those of the last pass.
  Timeline* timeline() const { return options_.timeline; }
  // Records from the next pass on, or no longer (null).
  void SetTimeline(Timeline* timeline) {
    options_.timeline = timeline;
    forward_->SetTimeline(timeline);
  }

  // An empty sequence.
  absl::StatusOr<std::unique_ptr<Session>> NewSession();

  // For tools that lay out rows themselves (tests, benchmarks).
  Forward& forward() { return *forward_; }
  KvCache& cache() { return *cache_; }
  ThreadPool& pool() const { return *pool_; }

 private:
  friend class Session;
  Engine() = default;
  absl::Status Prepare(const EngineOptions& options);
  absl::Status PrepareToCompute();  // All that Open makes of the file, but the tokenizer.
  // Before a pass: CPUs may have been given and taken (an app goes to the background, a container is resized).
  void FollowCpus();
  absl::Status ChooseRows();
  int64_t LogitRowBytes() const { return config_.vocabulary * static_cast<int64_t>(sizeof(float)); }
  KvCache::Options CacheOptions() const;
  absl::Status MakeForward(CompiledModel model);              // Without weights so far.
  absl::Status OfThisFile(const absl::Status& status) const;  // Its error, with the file named.
  absl::Status PlanLogitRows(const StreamNeeds& needs, BudgetPlan& plan) const;
  absl::Status MakeForSessions();  // What LoadWeights does, not timed.
  absl::Status OpenSource();

  EngineOptions options_;
  int context_ = 0;
  int threads_ = 0;                   // What the pool is asked for; it may have fewer.
  int rows_ = 0;                      // Most rows of a pass.
  int logits_at_once_ = 0;
  std::unique_ptr<ModelFile> file_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ModelConfig config_;
  WeightLayout layout_;
  int64_t process_bytes_ = 0;  // Once all this was there: what else the process has of its own.
  std::unique_ptr<ThreadPool> own_pool_;   // Null where one was given.
  std::unique_ptr<Device> own_device_;
  ThreadPool* pool_ = nullptr;
  Device* device_ = nullptr;
  std::unique_ptr<WeightSource> no_weights_;  // The forward's, before there are any.
  std::unique_ptr<WeightSource> source_;  // Ends before file_, which its threads may read.
  LayerStreamer* streamer_ = nullptr;  // The source, if it is one.
  std::mutex shrinking_;
  BudgetPlan plan_;                   // As carried out. Under the mutex, once the weights are loaded.
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Forward> forward_;
};

// One sequence of tokens and what the model thinks comes next.
class Session {
 public:
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Engine& engine() const { return engine_; }
  // Tokens of the sequence so far.
  int length() const { return static_cast<int>(tokens_.size()); }
  absl::Span<const TokenId> tokens() const { return tokens_; }

  // Appends tokens and computes the logits after the last. ResourceExhausted (found, context) if they do not fit, InvalidArgument
  // for a token outside the vocabulary (which, found, expected), or the first error of a pass; the sequence is then as it was.
  absl::Status Append(absl::Span<const TokenId> tokens);

  // The same, giving the logits after every token: on_logits(index in `tokens`, [vocabulary]), in order, valid during the call. Its
  // error ends the call, and is treated like one of a pass. REQUIRES: it appends to no session of this engine.
  static constexpr int kLogitRows = 32;  // Rows of logits it holds at a time, at least: 32 MiB at a vocabulary of 262,144.
  using LogitsVisitor = std::function<absl::Status(int index, absl::Span<const float> logits)>;
  absl::Status AppendEach(absl::Span<const TokenId> tokens, const LogitsVisitor& on_logits);
  // The same, giving the logits after some tokens only. REQUIRES: `indices` ascend, and are of `tokens`.
  absl::Status AppendSome(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits);

  // A pass over a draft: the tree's root and nodes come after the sequence, each after its ancestors. The sequence is as it was until
  // Keep; before that nothing but TreeLogits may be called. InvalidArgument if a token is outside the vocabulary (which, found,
  // expected) or there are more nodes than a pass has rows, ResourceExhausted if they do not fit (TreeRoom), or the first error of the
  // pass. REQUIRES: no tree is waiting for Keep.
  absl::Status PassTree(const TokenTree& tree);
  // Most nodes, the root included, of the next PassTree, and how deep they may be: what is left of the context, of a pass, and of the
  // cache beside other sessions. At least 1 unless the context is full.
  int TreeRoom() const;
  // Logits of nodes of the tree, in the order given. May be called until Keep. logits: [nodes.size(), vocabulary].
  absl::Status TreeLogits(absl::Span<const int> nodes, TensorView<float> logits);
  // Ends the tree: `path`, the root and below it, is text now, and nothing of it is computed again; the rest is gone. An empty path
  // keeps nothing. `logits`, if not empty, are those of the path's last node. REQUIRES: each is a child of the one before.
  void Keep(absl::Span<const int> path, absl::Span<const float> logits);

  // After the last token appended or kept: [vocabulary], valid until the next call. Empty if they are not known.
  absl::Span<const float> logits() const { return has_logits_ ? logits_ : absl::Span<const float>(); }

  // Forgets all but the first `length` tokens. Where layers have a sliding window, the keys and values before what is forgotten may be
  // gone: then the next Append computes the tokens that are left once more, from the first, and gives the bits it always gives. What
  // the engine's last pass added can be forgotten without that and, with one session, as many tokens as a pass has rows. An Append
  // of no tokens does that work and nothing else. REQUIRES: 0 <= length <= length().
  void Truncate(int length);

 private:
  friend class Engine;
  Session(Engine& engine, KvCache::SequenceId sequence);
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Runs one pass over `tokens` (at most the row capacity), which become part of the sequence, even if the pass fails. Logits may be
  // asked of the `wanted` ones.
  absl::Status Pass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted);
  // The same for tokens that are part of it already, the next that the cache has not.
  absl::Status RunPass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted);
  // Gives every node of the tree its slots.
  absl::Status PlaceTree(const TokenTree& tree);
  // Drops what the cache has of the tree, but for the node's path.
  void EndTree(int kept);
  // Gives the cache what it lacks of the sequence.
  absl::Status Restore();
  absl::Status AppendParts(absl::Span<const TokenId> tokens);
  absl::Status AppendSomePart(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits);
  // Drops the tokens from `length` on, and what the cache has of them.
  void Shorten(int length);
  // Returns `status`; if it is an error, the sequence is cut to `length` first. The logits of what is left are still there.
  absl::Status OrUndo(int length, const absl::Status& status);

  Engine& engine_;
  KvCache::SequenceId sequence_;
  std::vector<TokenId> tokens_;
  std::vector<float> logits_buffer_;
  absl::Span<const float> logits_;
  bool has_logits_ = false;
  // Kept between passes to spare allocations.
  std::vector<KvCache::Paths> paths_;
  std::vector<ForwardRow> rows_;
  std::optional<TokenTree> tree_;                   // The tree that waits for Keep.
  std::vector<KvCache::SequenceId> node_sequences_; // Per node of the tree: the sequence whose path it is on.
};

}  // namespace tessera
