#include "tessera/runtime/engine/core.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(Core, HeaderExample) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  std::vector<float> logits(engine->config().vocabulary);
  const auto run = [&]() -> absl::Status {
    EngineCore& core = CoreOf(*engine);
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());
    const KvCache::SequenceId sequence = core.cache().NewSequence();
    RETURN_IF_ERROR(core.cache().MakeRoom(1));
    RETURN_IF_ERROR(core.cache().Extend(sequence, 1));
    const KvCache::Paths paths = core.cache().PathsOf(sequence, 1);
    const std::vector<PassRow> rows = {{.token = 7, .paths = paths}};
    ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, /*cancel=*/nullptr));
    ASSIGN_OR_RETURN(const HiddenRows done, pass.FinishAll());
    RETURN_IF_ERROR(core.runner().Logits(done, {0}, TensorView<float>(logits.data(), 1, engine->config().vocabulary)));
    core.cache().Release(sequence);
    return absl::OkStatus();
  };
  Must(run());
  const auto session = Must(engine->NewSession());
  Must(session->Append({7}));
  EXPECT_EQ(session->logits(), absl::MakeConstSpan(logits)) << "the bits that a session gives";
}

TEST(Core, AnEngineAndItsSessionsHaveOne) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  EXPECT_EQ(&CoreOf(*engine), &CoreOf(*session));
}

TEST(Core, OneCallHoldsTheCoreAtATime) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  EngineCore& core = CoreOf(*engine);
  {
    const EngineCore::Hold hold = Must(core.TryHold());
    std::thread([&] { EXPECT_EQ(core.TryHold().status().code(), absl::StatusCode::kFailedPrecondition); }).join();
  }
  Must(core.TryHold());
}

}  // namespace
}  // namespace tessera
