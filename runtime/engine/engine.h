// A model that is ready to write text: made from a few options, it gives sessions.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Load({.model_path = "model.gguf"}));
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
//   absl::Span<const float> next = session->logits();             // after the last token
//
// A process that is forked after Open has none of the engine's threads: there each call that computes or reads weights is
// FailedPrecondition, and all objects may end. It may load an engine of its own.
// Threads: an engine and its sessions are used from one thread at a time, but for ShrinkMemory and stats (session.h says what a second
// thread meets). Errors name the file or the option, the value found and the value expected. Code that lays out rows itself finds device,
// cache and passes in core.h.
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

// What an engine has done so far.
struct EngineStats {
  int64_t passes = 0;          // Passes that have begun.
  int64_t rows = 0;            // Rows that passes have computed, logits not counted.
  double loading_seconds = 0;  // Time that passes have waited for weights which LoadWeights left to be read.
};

class Engine {
 public:
  // Everything is in place when this returns: no pass waits for loading.
  static absl::StatusOr<std::unique_ptr<Engine>> Load(const EngineOptions& options);

  // The same in steps, to know or refuse something before weights are read. After Open there are the model but for its weights, context,
  // threads and planner. LoadWeights, called once, makes what sessions need; with kAtOnce it is sure to follow, and reading begins in Open.
  // It also chooses how graphs are switched, if the options have a warm-up (prepare_switching.h).
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options,
                                                      ModelFile::Weights weights = ModelFile::Weights::kLater);
  absl::Status LoadWeights();
  // After LoadWeights the weights of a packed model may still be read. The first passes wait for those they need, and fail if these cannot
  // be read. This waits until all that stay in memory were read and verified, and returns the first error; or until they are also in their
  // final place, which is to be awaited before passes are timed. So for graphs that hold their weights. REQUIRES: LoadWeights succeeded.
  enum class WeightsAre { kVerified, kInPlace };
  absl::Status AwaitWeights(WeightsAre state = WeightsAre::kInPlace);

  // An empty sequence. FailedPrecondition (found, expected) before LoadWeights, and during another thread's pass; InvalidArgument (found,
  // expected) for an adapter of another model; ResourceExhausted where memory ends, or ended in a session of this engine (session.h).
  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options = {});

  // Gives memory back while a streamed model is in use, until all fits into `budget` bytes, and returns the plan as it is then. Where the
  // cache is for more than one text, it becomes smaller first, but for a context and what running texts hold: prefixes of ended texts go,
  // the least recently used first. Then weights are unpinned, and read in every pass from now on. Sessions and every bit stay. From any
  // thread; during a pass too, but for making the cache smaller, which waits for a gap. A lease keeps its memory until it ends. Memory
  // never comes back, and a budget that is not smaller changes nothing. FailedPrecondition if the model is not streamed; the errors of
  // MemoryPlanner::Shrink, with no weights unpinned. REQUIRES: LoadWeights succeeded.
  absl::StatusOr<BudgetPlan> ShrinkMemory(int64_t budget);

  EngineMemory memory() const;   // As it is now. REQUIRES: LoadWeights succeeded.
  EngineStats stats() const;     // From any thread.
  const MemoryPlanner& planner() const;

  const LoadedModel& model() const;
  const Tokenizer& tokenizer() const { return model().tokenizer(); }
  const ModelConfig& config() const { return model().config(); }
  const EngineOptions& options() const;
  // The clock given, or if it is null that of the options, or the real one.
  const Clock& ClockOr(const Clock* given) const;
  int context() const;           // Most positions of one text.
  // The context that was asked for or, if none was, the usual one: more than context() where a memory budget has no room for that.
  int wanted_context() const;
  int cache_tokens() const;      // Positions that the cache has for all texts together: at least the context.
  int threads() const;           // That compute, as of the last pass.

 private:
  friend EngineCore& CoreOf(const Engine& engine);
  friend std::shared_ptr<EngineCore> SharedCoreOf(const Engine& engine);
  explicit Engine(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}

  const std::shared_ptr<EngineCore> core_;
};

}  // namespace tessera
