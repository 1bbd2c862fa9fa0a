// A program forks once an engine is loaded, as servers and tests do: the child has neither the threads that compute nor those that read.
// Each call there says so, none waits for them, and all that was made ends.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/runtime/draft/model_expander.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/thread_state.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Logits = std::vector<float>;

Logits LogitsAfter(Session& session, const std::vector<TokenId>& tokens) {
  Must(session.Append(tokens));
  return {session.logits().begin(), session.logits().end()};
}

// Whether the error is that of a forked process; if not, it is told.
bool SaysForked(const char* call, const absl::Status& status) {
  const bool says = absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "forked after the engine was loaded");
  if (!says) std::cerr << call << ": " << status << "\n";
  return says;
}

// An engine and what a program has made of it.
struct Program {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Session> session;
  std::unique_ptr<Stepper> stepper;
  std::unique_ptr<ModelExpander> draft;
};

Program Begin(const EngineOptions& options) {
  Program program;
  program.engine = Must(Engine::Load(options));
  program.session = Must(program.engine->NewSession());
  Must(program.session->Append({1, 2, 3}));
  program.stepper = Must(Stepper::Create(*program.engine, {}));
  program.draft = Must(ModelExpander::Create(program.engine, {}));
  return program;
}

bool EachCallSaysForked(Program& program) {
  Session& session = *program.session;
  bool all = SaysForked("Append", session.Append({4}));
  all = SaysForked("NewSession", program.engine->NewSession().status()) && all;
  all = SaysForked("Fork", session.Fork(2).status()) && all;
  all = SaysForked("Generate", Generate(session, Must(Sampler::Create({.temperature = 0})), {.max_tokens = 2}).status()) && all;
  all = SaysForked("PassTree", session.PassTree(TokenTree(5))) && all;
  all = SaysForked("SaveSession", SaveSession(session, "/dev/null/none", "")) && all;
  all = SaysForked("LoadSession", LoadSession(*program.engine, "/dev/null/none", {}).status()) && all;
  all = SaysForked("Step", program.stepper->Step().status()) && all;
  all = SaysForked("ModelExpander::Begin", program.draft->Begin(std::vector<TokenId>{1, 2})) && all;
  all = SaysForked("ModelExpander::Create", ModelExpander::Create(program.engine, {}).status()) && all;
  all = SaysForked("Stepper::Create", Stepper::Create(*program.engine, {}).status()) && all;
  all = SaysForked("ShrinkMemory", program.engine->ShrinkMemory(1).status()) && all;
  return SaysForked("AwaitWeights", program.engine->AwaitWeights()) && all;
}

// body()'s in a child; -1 where a signal ended it, as an alarm does that waits in vain.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ForkedProcess : public testing::Test {
 protected:
  static EngineOptions Options(const std::string& path, int threads = 2) {
    return {.model_path = path, .compute = {.threads = threads, .row_capacity = 8}, .cache = {.context = 64}};
  }

  static void ExpectToldAndEnded(const EngineOptions& options) {
    Program program = Begin(options);
    EXPECT_EQ(InChild([&] {
      const bool told = EachCallSaysForked(program);
      program = {};
      return told;
    }), 0);
    ASSERT_TRUE(Await(OthersAreAsleep));   // Now all wait for work, also by condition variables.
    EXPECT_EQ(InChild([&] {
      program = {};
      return true;
    }), 0) << "unused";
    const auto other = Must(program.engine->NewSession());
    EXPECT_EQ(LogitsAfter(*program.session, {4}), LogitsAfter(*other, {1, 2, 3, 4})) << "the parent goes on";
  }

  const PackedModel model_{TinyModelBuilder({.layers = 4})};
};

TEST_F(ForkedProcess, IsToldByAnEngineWhoseWeightsAreInMemory) {
  ExpectToldAndEnded(Options(model_.gguf()));
  ExpectToldAndEnded(Options(model_.path()));
  ExpectToldAndEnded(Options(model_.gguf(), /*threads=*/1));
}

TEST_F(ForkedProcess, IsToldByAnEngineThatStreams) {
  for (const IoKind io : {IoKind::kAuto, IoKind::kBuffered}) {
    EngineOptions options = Options(model_.path());
    options.streaming = {.memory_budget = int64_t{1} << 30, .pin = PinPolicy::kNone, .io = io};
    options.streaming.probe_in_child = true;
    ExpectToldAndEnded(options);
  }
}

TEST_F(ForkedProcess, IsToldByAnEngineThatWasOpenedAlone) {
  std::unique_ptr<Engine> engine = Must(Engine::Open(Options(model_.path())));
  EXPECT_EQ(InChild([&] {
    const bool told = SaysForked("LoadWeights", engine->LoadWeights());
    engine = nullptr;
    return told;
  }), 0);
  EXPECT_EQ(engine->LoadWeights(), absl::OkStatus());
}

TEST_F(ForkedProcess, LoadsAnEngineOfItsOwn) {
  if (kThreadSanitized) GTEST_SKIP() << "it allows no threads after a fork";
  ThreadPool pool(2);
  Program program = Begin(Options(model_.gguf()));
  const Logits expected = LogitsAfter(*program.session, {4});
  EXPECT_EQ(InChild([&] {
    for (ThreadPool* const given : {static_cast<ThreadPool*>(nullptr), &pool}) {   // A pool of the parent has its caller alone.
      EngineOptions options = Options(model_.gguf());
      options.compute.pool = given;
      Program own = Begin(options);
      if (LogitsAfter(*own.session, {4}) != expected) return false;
    }
    return true;
  }), 0);
}

// Another thread holds the engine when the process is forked.
TEST_F(ForkedProcess, WaitsForNoThreadThatHeldTheEngine) {
  Program program = Begin(Options(model_.gguf()));
  std::atomic<bool> is_held = false, may_end = false;
  std::thread thread([&] {
    const EngineCore::Hold hold = Must(CoreOf(*program.engine).TryHold());
    is_held = true;
    is_held.notify_all();
    may_end.wait(false);
  });
  is_held.wait(false);
  EXPECT_EQ(InChild([&] {
    const bool told = EachCallSaysForked(program);
    program = {};
    return told;
  }), 0);
  may_end = true;
  may_end.notify_all();
  thread.join();
}

}  // namespace
}  // namespace tessera
