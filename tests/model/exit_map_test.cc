#include "tessera/model/exit_map.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/exit_map_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

ModelConfig ConfigOf(int width, int layers) {
  ModelConfig config;
  config.width = width;
  config.layers.resize(static_cast<size_t>(layers));
  return config;
}

float Number(int row, int column) { return static_cast<float>(row) + 0.25f * static_cast<float>(column); }

TEST(ExitMap, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("exit.safetensors");
  WriteExitMap(path, 8, Number, {{"made_by", "exit_predictor.py"}, {"layer", "8"}, {"kind", "width"}});
  const ModelConfig config = ConfigOf(8, 30);
  ThreadPool pool(2);
  std::vector<float> numbers(2 * 2 * 8);
  SeededRandom random(1);
  for (int i = 0; i < 16; ++i) numbers[static_cast<size_t>(i)] = random.Uniform(-1, 1);
  const TensorView<float> states(numbers.data(), 2, 8), mapped(numbers.data() + 16, 2, 8);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<ExitMap> map, ExitMap::Open(path, FirstLayers(config, 8)));
    EXPECT_GE(map->bytes(), 8 * 8 * 4);
    return map->Apply(states, mapped, pool);
  };
  Must(run());
  for (int r = 0; r < 2; ++r) {
    for (int row = 0; row < 8; ++row) {
      double sum = 0;
      for (int column = 0; column < 8; ++column) sum += double{Number(row, column)} * double{states.row(r)[column]};
      EXPECT_NEAR(mapped.row(r)[row], sum, 1e-5);
    }
  }
}

TEST(ExitMap, FilesThatAreWrongAreRefusedByName) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("exit.safetensors");
  const auto refused = [&](const ModelConfig& config) {
    const absl::Status status = ExitMap::Open(path, config).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  WriteExitMap(path, 8, Number, {{"layer", "17"}});
  EXPECT_EQ(refused(ConfigOf(8, 8)), absl::StrCat(path, ": __metadata__ layer: found \"17\", expected \"8\""));
  WriteExitMap(path, 8, Number, {{"kind", "vocabulary"}});
  EXPECT_EQ(refused(ConfigOf(8, 8)), absl::StrCat(path, ": __metadata__ kind: found \"vocabulary\", expected \"width\""));
  WriteExitMap(path, 8, Number, {}, "predictor.weight");
  EXPECT_EQ(refused(ConfigOf(8, 8)), absl::StrCat(path, ": tensor \"predictor.weight\": found it, expected predictor.map alone"));
  WriteExitMap(path, 8, Number);
  EXPECT_EQ(refused(ConfigOf(16, 8)), absl::StrCat(path, ": tensor \"predictor.map\" shape: found [8, 8], expected [16, 16]"));
  WriteExitMap(path, 8, [](int row, int) { return row == 1 ? std::numeric_limits<float>::infinity() : 0; });
  EXPECT_NE(refused(ConfigOf(8, 8)).find("value 8 at byte "), std::string::npos);
  EXPECT_TRUE(absl::IsNotFound(ExitMap::Open(folder.Path("none"), ConfigOf(8, 8)).status()));
}

}  // namespace
}  // namespace tessera
