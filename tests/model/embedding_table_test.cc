#include "tessera/model/embedding_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

constexpr int kRows = 300;

// Row after row of the table for `tokens`, as the reference device's FP32 weights have them.
std::vector<float> Expected(const LoadedWeights& floats, const std::vector<TokenId>& tokens) {
  const int64_t width = floats.config().width;
  const TensorPart part = floats.layout().Parts("token_embd.weight")[0];
  const std::vector<std::byte> unit = floats.Units()[part.unit];
  const float* table = reinterpret_cast<const float*>(unit.data() + part.offset);
  std::vector<float> rows;
  for (const TokenId token : tokens) {
    for (int64_t i = 0; i < width; ++i) rows.push_back(table[token * width + i] * floats.config().embedding_scale);
  }
  return rows;
}

TEST(EmbeddingTable, HeaderExample) {
  const LoadedWeights model(TinyModelBuilder({})), floats(TinyModelBuilder({}), WeightEncoding::kFloat32);
  ThreadPool pool(2);
  HostDevice device(pool);
  const ModelConfig& config = model.config();
  const WeightLayout& layout = model.layout();
  WeightSource& source = model.source();
  const std::vector<TokenId> tokens = {5, 260, 5};
  std::vector<float> values(tokens.size() * config.width);
  const BoundBuffer hidden = {values.data(), config.width};
  const CompiledModel compiled = Must(CompiledModel::Create(config, layout, {}));
  const auto run = [&]() -> absl::Status {
    const CompiledModel& model = compiled;
    ASSIGN_OR_RETURN(EmbeddingTable table, EmbeddingTable::Create(config, layout));
    GraphStore store(device, model.variants());
    RETURN_IF_ERROR(table.LookUp(tokens, source, store, hidden));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(values, Expected(floats, tokens));
}

// Tables in one unit and in many, tokens in any order and more panels than a source gives at once; what is read of it is the panels.
TEST(EmbeddingTable, ReadsTheRowsOfAllTokensAndNoOtherPanels) {
  const LoadedWeights floats(TinyModelBuilder({}), WeightEncoding::kFloat32);
  for (const int64_t largest_unit : {int64_t{5000}, kLargestUnitBytes}) {
    const LoadedWeights model(TinyModelBuilder({}), WeightEncoding::kPacked, largest_unit);
    VanishingSource source(model.Units());
    ThreadPool pool(2);
    HostDevice device(pool);
    const CompiledModel compiled = Must(CompiledModel::Create(model.config(), model.layout(), {.row_capacity = kRows}));
    GraphStore store(device, compiled.variants());
    EmbeddingTable table = Must(EmbeddingTable::Create(model.config(), model.layout()));
    SeededRandom random(7);
    for (const int count : {1, 2, 40, kRows}) {
      std::vector<TokenId> tokens;
      for (int i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(random.Below(kTinyVocabulary)));
      std::vector<float> values(tokens.size() * model.config().width);
      const int64_t before = source.leases();
      Must(table.LookUp(tokens, source, store, {values.data(), model.config().width}));
      EXPECT_EQ(values, Expected(floats, tokens)) << count;
      std::set<int> panels;
      for (const TokenId token : tokens) panels.insert(token / 32);
      EXPECT_EQ(source.leases() - before, static_cast<int64_t>(panels.size()));
      EXPECT_EQ(source.live(), 0);
    }
  }
}

TEST(EmbeddingTable, RowsWithoutATokenAreUnchanged) {
  const LoadedWeights model(TinyModelBuilder({})), floats(TinyModelBuilder({}), WeightEncoding::kFloat32);
  ThreadPool pool(2);
  HostDevice device(pool);
  const CompiledModel compiled = Must(CompiledModel::Create(model.config(), model.layout(), {}));
  GraphStore store(device, compiled.variants());
  EmbeddingTable table = Must(EmbeddingTable::Create(model.config(), model.layout()));
  const int64_t width = model.config().width;
  std::vector<float> values(3 * width, 0.5f);
  Must(table.LookUp({EmbeddingTable::kNoToken, 7, EmbeddingTable::kNoToken}, model.source(), store, {values.data(), width}));
  std::vector<float> expected(3 * width, 0.5f);
  const std::vector<float> row = Expected(floats, {7});
  std::copy(row.begin(), row.end(), expected.begin() + width);
  EXPECT_EQ(values, expected);
  VanishingSource source(model.Units());
  Must(table.LookUp({EmbeddingTable::kNoToken}, source, store, {values.data(), width}));
  EXPECT_EQ(values, expected);
  EXPECT_EQ(source.leases(), 0);
}

}  // namespace
}  // namespace tessera
