#include "tessera/runtime/draft/forecast_draft.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/forecast_file.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

class ForecastDrafts : public testing::Test {
 protected:
  ForecastDrafts() {
    const auto file = Must(GgufFile::Open(kLlama));
    config_ = Must(ReadModelConfig(*file));
    RandomForecasts(config_, {.slots = 4, .forecasts = 3}, 1).WriteTo(path_);
  }

  ModelConfig config_;
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("ds2d.safetensors");
};

TEST_F(ForecastDrafts, HeaderExample) {
  EngineOptions options = {.model_path = kLlama};
  ASSERT_TRUE(ForecastDraft::IsIn(path_));
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<ForecastDraft> draft, ForecastDraft::Create(path_, "ds2d:3,2"));
    options.workload.reserved_slots = draft->slots();
    const std::unique_ptr<Engine> engine = Must(Engine::Load(options));
    const std::shared_ptr<EngineCore> core = SharedCoreOf(*engine);
    RETURN_IF_ERROR(draft->Open(core->model()));
    ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter, draft->NewDrafter(core));
    EXPECT_EQ(drafter->choice(), "3,2");
    EXPECT_EQ(drafter->forecasts(), Must(draft->NewDrafter(core))->forecasts()) << "one prefix for all";
    EXPECT_GT(draft->bytes(), 0);
    EXPECT_GE(draft->TextBytes(config_.vocabulary), 3 * 4 * config_.vocabulary);
    EXPECT_EQ(draft->Describe(), "ds2d.safetensors, 4 slots, 3 forecasts");
    return absl::OkStatus();
  };
  Must(run());
}

TEST_F(ForecastDrafts, TreesAreConfigurationsWithinTheFilesForecasts) {
  EXPECT_EQ(ForecastDraft::TreeName(""), "ds2d:auto");
  EXPECT_EQ(ForecastDraft::TreeName("ds2d"), "ds2d:auto");
  EXPECT_EQ(ForecastDraft::TreeName("ds2d:1,8"), "ds2d:1,8");
  for (const char* right : {"", "ds2d", "ds2d:auto", "ds2d:15", "ds2d:1,2,2"}) Must(ForecastDraft::Create(path_, right).status());
  const auto refused = [&](const std::string& tree) {
    const absl::Status status = ForecastDraft::Create(path_, tree).status();
    EXPECT_EQ(FieldOf(status), "tree") << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refused("lever"), "tree: found \"lever\" with forecasts, expected ds2d:auto, or a configuration such as ds2d:3,2");
  EXPECT_EQ(refused("ds2dx"), "tree: found \"ds2dx\", expected ds2d:auto, or a configuration such as ds2d:3,2");
  EXPECT_TRUE(absl::StartsWith(refused("ds2d:"), "tree: branches: found \"\", expected 1 to 8 numbers"));
  EXPECT_TRUE(absl::StartsWith(refused("ds2d:9,9"), "tree: branches: found \"9,9\", expected at most 32 rows"));
  EXPECT_EQ(refused("ds2d:1,1,1,2"), absl::StrCat("tree: found 4 branches, expected at most 3, as many as the forecasts of ", path_));
}

}  // namespace
}  // namespace tessera
