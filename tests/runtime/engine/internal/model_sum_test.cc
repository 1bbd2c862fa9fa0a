// What a session's file knows a model by: the same in whatever file the model is, and another where one bit is another.
#include "tessera/runtime/engine/internal/model_sum.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

absl::StatusOr<Sha256Sum> Example(const LoadedModel& model, ThreadPool& pool) {
  ModelSum sum(model);
  sum.Start();
  ASSIGN_OR_RETURN(const Sha256Sum of_model, sum.Finish(pool));
  return of_model;
}

TEST(ModelSum, HeaderExample) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 2}});
  ThreadPool pool(2);
  EXPECT_EQ(Must(Example(engine->model(), pool)), Must(CoreOf(*engine).ModelIdentity()));
}

// One weight, the last of the head or a number of a norm, is another model.
TEST(ModelSum, OneOtherWeightIsAnotherModel) {
  const TemporaryFolder folder;
  GgufBuilder builder = TinyModelBuilder({});
  const std::string bytes = builder.Build();
  const auto content = [&](const std::string& changed) {
    std::ofstream(folder.Path("model.gguf"), std::ios::binary) << changed;
    const auto engine = Must(Engine::Load({.model_path = folder.Path("model.gguf"), .compute = {.threads = 1}}));
    return Must(CoreOf(*engine).ModelIdentity());
  };
  const Sha256Sum right = content(bytes);
  EXPECT_EQ(content(bytes), right);
  std::string changed = bytes;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_NE(content(changed), right);
}

// By version 1.0's golden file, of which all is read, one of today, whose manifest says it, and the GGUF file that both were packed from.
TEST(ModelSum, AModelHasTheSameSumInAnyFileAndByAnyWayOfSumming) {
  const PackedModel packed(GoldenPath("tiny/llama.gguf"));
  std::vector<Sha256Sum> sums;
  for (const std::string& path : {GoldenPath("tiny/llama.gguf"), packed.path(), GoldenPath("tsr/llama.tsr")}) {
    for (const bool beside : {false, true}) {
      const auto engine = Must(Engine::Load({.model_path = path, .compute = {.threads = 2}}));
      if (beside) PrepareSaving(*engine);
      sums.push_back(Must(CoreOf(*engine).ModelIdentity()));
      EXPECT_EQ(sums.back(), sums.front()) << path;
      EXPECT_EQ(CoreOf(*engine).identity_cost().bytes, path == packed.path() ? 0 : engine->model().weight_bytes()) << path;
    }
  }
  EngineOptions streamed = {.model_path = GoldenPath("tsr/llama.tsr"), .compute = {.threads = 1}};
  streamed.streaming = {.memory_budget = int64_t{4} << 30, .pin = PinPolicy::kNone};
  EXPECT_EQ(Must(CoreOf(*Must(Engine::Load(streamed))).ModelIdentity()), sums.front());
}

// A file of version 1.0 has no sums. A unit that is another one since the model was loaded is found out, and nothing is saved with its sum.
TEST(ModelSum, AUnitThatCannotBeReadAgainIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.tsr");
  std::filesystem::copy_file(GoldenPath("tsr/llama.tsr"), path);
  const auto engine = Must(Engine::Load({.model_path = path, .compute = {.threads = 2}}));
  Must(engine->AwaitWeights(Engine::WeightsAre::kVerified));
  const auto write = [&](char byte) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.seekp(200000).write(&byte, 1).flush());
  };
  std::ifstream file(path, std::ios::binary);
  const char right = static_cast<char>(file.seekg(200000).get());
  write(static_cast<char>(right ^ 1));
  for (const bool beside : {false, true}) {
    if (beside) PrepareSaving(*engine);
    const absl::Status status = CoreOf(*engine).ModelIdentity().status();
    EXPECT_TRUE(absl::StrContains(status.message(), "unit 2")) << status;
  }
  write(right);
  EXPECT_EQ(Must(CoreOf(*engine).ModelIdentity()),
            Must(CoreOf(*Must(Engine::Load({.model_path = GoldenPath("tsr/llama.tsr")}))).ModelIdentity()));
}

// The thread beside ends with the engine, whatever it has done until then; one that a save finds at work is helped.
TEST(ModelSum, ASumInTheBackgroundIsEndedOrHelped) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("a.session");
  const auto session = [&] {
    const auto engine = TinyEngine({.layers = 6}, {.compute = {.threads = 2}});
    PrepareSaving(*engine);
    PrepareSaving(*engine);
    return Must(engine->NewSession());
  }();
  Must(session->Append({1, 2, 3}));
  Must(SaveSession(*session, path));
  EXPECT_EQ(LoadSession(*TinyEngine({.layers = 6}, {.compute = {.threads = 2}}), path).status(), absl::OkStatus());
  for (int i = 0; i < 20; ++i) PrepareSaving(*TinyEngine({.layers = 6}, {.compute = {.threads = 2}}));
}

}  // namespace
}  // namespace tessera
