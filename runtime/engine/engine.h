// A model that is ready to generate text. An engine is made from a few options and makes sessions.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Load({.model_path = "model.gguf"}));
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
//   absl::Span<const float> next = session->logits();             // after the last token
//
// Threads: an engine and its sessions are used from one thread at a time, except ShrinkMemory and stats. Calls of a second thread:
// session.h.
// Forks: a process that is forked after Open lacks the engine's threads. Calls that compute or read weights are FailedPrecondition there;
// all objects may end. The forked process may load its own engine.
// Errors: name the file or the option, the value found and the value expected.
// Code that lays out rows itself finds device, cache and passes in core.h.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/engine/loaded_model.h"
#include "tessera/runtime/engine/memory_planner.h"
#include "tessera/runtime/engine/options.h"

namespace tessera {

class EngineCore;   // core.h.
class Session;      // session/session.h.

// Counts the work that an engine has done so far.
struct EngineStats {
  int64_t passes = 0;          // Passes that have begun.
  int64_t rows = 0;            // Rows that passes have computed, logits not counted.
  double loading_seconds = 0;  // Time that passes have waited for weights which LoadWeights left to be read.
};

class Engine {
 public:
  // Opens a model and loads everything: no pass waits for loading.
  static absl::StatusOr<std::unique_ptr<Engine>> Load(const EngineOptions& options);

  // Loads in steps, for callers that inspect or refuse something before weights are read. Open makes context, threads, planner and the
  // model without its weights. LoadWeights, called once, makes everything that sessions need. With kAtOnce, LoadWeights is sure to follow,
  // and reading begins in Open. LoadWeights also chooses how graphs are switched if the options have a warm-up (prepare_switching.h).
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options,
                                                      ModelFile::Weights weights = ModelFile::Weights::kLater);
  absl::Status LoadWeights();
  // Waits for weights of a packed model, which may still be read after LoadWeights. The first passes wait for the weights that they need,
  // and fail if the weights cannot be read. kVerified waits until all weights that stay in memory were read and verified, and returns the
  // first error. kInPlace waits until the weights are also in their final place; await that state before passes are timed. Graphs that hold
  // their weights are awaited alike. REQUIRES: LoadWeights succeeded.
  enum class WeightsAre { kVerified, kInPlace };
  absl::Status AwaitWeights(WeightsAre state = WeightsAre::kInPlace);

  // Returns an empty session. FailedPrecondition (found, expected) before LoadWeights, and during another thread's pass. InvalidArgument
  // (found, expected) for an adapter of another model. ResourceExhausted if memory runs out, or ran out in a session of this engine
  // (session.h).
  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options = {});

  // Gives memory back while a streamed model is in use, until everything fits in `budget` bytes. Returns the new plan. A cache for more
  // than one sequence shrinks first, but keeps one context and the entries of running sequences: kept prefixes of ended sequences go, the
  // least recently used first. Then weights are unpinned, and read in every pass from now on. Sessions and all bits stay. Callable from any
  // thread, also during a pass; the cache's part waits for a gap between passes. A lease keeps its memory until the lease ends. Memory
  // never comes back, and a budget that is not smaller changes nothing.
  // FailedPrecondition if the model is not streamed; the errors of MemoryPlanner::Shrink, with no weights unpinned. REQUIRES: LoadWeights
  // succeeded.
  absl::StatusOr<BudgetPlan> ShrinkMemory(int64_t budget);

  EngineMemory memory() const;   // The current use. REQUIRES: LoadWeights succeeded.
  EngineStats stats() const;     // From any thread.
  const MemoryPlanner& planner() const;

  const LoadedModel& model() const;
  const Tokenizer& tokenizer() const { return model().tokenizer(); }
  const ModelConfig& config() const { return model().config(); }
  const EngineOptions& options() const;
  // Returns the given clock or, if null, the options' clock or, if null, the real clock.
  const Clock& ClockOr(const Clock* given) const;
  int context() const;           // Most positions of one sequence.
  // Returns the context that was asked for, or the default context. Exceeds context() if a memory budget has no room for the whole
  // context.
  int wanted_context() const;
  int cache_tokens() const;      // Positions that the cache has for all sequences together: at least the context.
  int threads() const;           // Threads that compute, as of the last pass.

 private:
  friend EngineCore& CoreOf(const Engine& engine);
  friend std::shared_ptr<EngineCore> SharedCoreOf(const Engine& engine);
  explicit Engine(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}

  const std::shared_ptr<EngineCore> core_;
};

}  // namespace tessera
