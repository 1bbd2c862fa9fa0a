// A pass of more rows than a layer takes at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/model/pass_runner.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

using Rows = std::vector<std::vector<float>>;

class Chunks : public testing::TestWithParam<const char*> {};

// Fourteen tokens at a time round the ring of a sliding window, some of them wanted or all.
TEST_P(Chunks, RowsTogetherChangeNoBit) {
  const std::string architecture = GetParam();
  const LoadedWeights model(TinyModelBuilder({.architecture = architecture, .layers = 6, .window = architecture == "gemma3" ? 8 : 0}));
  std::vector<TokenId> tokens(14);
  for (int i = 0; i < 14; ++i) tokens[i] = 3 + i * 17 % 250;
  for (const std::vector<int>& wanted : std::vector<std::vector<int>>{{13}, {0, 4, 5, 12}, Machine::All(14)}) {
    const auto passes = [&](int threads, int rows_together, uint64_t scatter) {
      Machine machine(model, {.threads = threads, .scatter_seed = scatter, .row_capacity = 16, .rows_together = rows_together,
                              .windowed_sequences = scatter == 0 ? 1 : 0});
      const KvCache::SequenceId sequence = machine.cache().NewSequence();
      std::vector<Rows> logits;
      for (int pass = 0; pass < 4; ++pass) logits.push_back(machine.Extend(sequence, tokens, wanted, nullptr));
      return logits;
    };
    const std::vector<Rows> whole = passes(1, 16, 0);
    for (const int rows_together : {1, 3, 5, 13}) {
      EXPECT_EQ(passes(2, rows_together, 0), whole) << rows_together;
      EXPECT_EQ(passes(1, rows_together, 7), whole) << rows_together;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Chunks, testing::ValuesIn(kArchitectures), [](const auto& info) { return info.param; });

// The paths of the three positions of a new sequence.
std::vector<KvCache::Paths> ThreePaths(KvCache& cache) {
  const KvCache::SequenceId sequence = cache.NewSequence();
  Must(cache.Extend(sequence, 3));
  return {cache.PathsOf(sequence, 1), cache.PathsOf(sequence, 2), cache.PathsOf(sequence, 3)};
}

// A row's key and value are there when its chunk is, not before.
TEST(PassRunner, RowsThatOthersAttendToComeBeforeThem) {
  const LoadedWeights model(TinyModelBuilder({}));
  Machine machine(model, {.slots = 32, .row_capacity = 8, .rows_together = 2});
  const std::vector<KvCache::Paths> paths = ThreePaths(machine.cache());
  const std::vector<PassRow> in_order = {{1, paths[0], nullptr}, {2, paths[1], nullptr}, {3, paths[2], nullptr}};
  const std::vector<PassRow> turned = {in_order[1], in_order[2], in_order[0]};
  const absl::Status status = machine.Run(turned);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "row 0: slot of its path: found 0, expected no slot of a row after it, as of row 2, in a pass of more than 2");
  Must(machine.Run(in_order));
  Machine together(model, {.slots = 32, .row_capacity = 8});
  const Rows expected = together.Extend(together.cache().NewSequence(), {1, 2, 3});
  EXPECT_EQ(machine.LogitsOfAll(3), expected);
}

// Errors count the rows of the pass, not of a chunk.
TEST(PassRunner, AnErrorInALaterChunkNamesItsRow) {
  const LoadedWeights model(TinyModelBuilder({}));
  Machine machine(model, {.slots = 32, .row_capacity = 8, .rows_together = 2});
  std::vector<KvCache::Paths> paths = ThreePaths(machine.cache());
  paths.push_back({{{0, 3}, {32, 1}}});
  std::vector<PassRow> rows;
  for (const KvCache::Paths& path : paths) rows.push_back({7, path, nullptr});
  const absl::Status status = machine.Run(rows);
  EXPECT_EQ(status.message(), "row 3: slots of its path: found 32 to 32, expected 0 to 31");
  rows[3].paths = paths[2] = {{{2147483600, 100}}};
  EXPECT_EQ(machine.Run({rows[0], rows[1], rows[3]}).code(), absl::StatusCode::kInvalidArgument);
}

// A position that is stored nowhere is no slot.
TEST(PassRunner, PositionsThatAWindowLeftBehindAreNotRowsOfThePass) {
  const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .layers = 6, .window = 4}));
  const auto logits = [&](int rows_together) {
    Machine machine(model, {.slots = 256, .row_capacity = 8, .rows_together = rows_together, .windowed_sequences = 1});
    const KvCache::SequenceId sequence = machine.cache().NewSequence();
    Rows last;
    for (int pass = 0; pass < 24; ++pass) last = machine.Extend(sequence, {5, 6, 7, 8, 9, 10, 11, 12});
    return last;
  };
  EXPECT_EQ(logits(3), logits(8));
}

}  // namespace
}  // namespace tessera
