// Logits of models before and after their weights are moved off the grid (model/files/off_grid.h), on the reference path.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/model/files/off_grid.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-4;  // A share of the largest logit: FP32 sums of some hundred numbers, in another order.

std::vector<float> LogitsOf(const std::string& path) {
  const LoadedWeights model(path, WeightEncoding::kFloat32);
  return Machine(model, {}).Plain({7, 70, 170, 3, 9});
}

double Farthest(const std::vector<float>& a, const std::vector<float>& b) {
  double farthest = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    farthest = std::max(farthest, std::fabs(double{a[i]} - double{b[i]}));
    largest = std::max(largest, std::fabs(double{a[i]}));
  }
  return farthest / largest;
}

TEST(OffGridLogits, MatchTheModel) {
  const TemporaryFolder folder;
  const std::string old_path = folder.Path("old.gguf"), new_path = folder.Path("new.gguf");
  for (const char* architecture : kArchitectures) {
    const bool llama = std::string(architecture) == "llama", gemma = std::string(architecture) == "gemma3";
    TinyModelBuilder({.architecture = architecture, .window = gemma ? 4 : 0, .tied = !llama, .formats = {BlockFormat::kQ4_0},
                      .biases = llama ? AllLayerBiases() : std::set<std::string>()})
        .WriteTo(old_path);
    const auto file = Must(GgufFile::Open(old_path));
    ThreadPool pool(2);
    Must(Must(OffGridModel::Plan(*file, /*seed=*/3)).Write(new_path, pool));
    const std::vector<float> before = LogitsOf(old_path), after = LogitsOf(new_path);
    ASSERT_EQ(after.size(), before.size());
    EXPECT_LT(Farthest(before, after), kTolerance) << architecture;
    EXPECT_NE(before, after) << architecture << ": other weights round otherwise";
  }
}

}  // namespace
}  // namespace tessera
