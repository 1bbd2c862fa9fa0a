// What a pass is made of: its rows, and the blocks that it runs.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/internal/block_runner.h"
#include "tessera/model/internal/pass_check.h"
#include "tessera/model/internal/pass_rows.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

const std::vector<TokenId> kTokens = {72, 101, 108, 7};

class PassParts : public testing::Test {
 protected:
  PassParts() : model_(TinyModelBuilder({})), machine_(model_, {}), text_(machine_, kTokens) {}

  const LoadedWeights model_;
  Machine machine_;
  PassText text_;
};

TEST_F(PassParts, RowsHeaderExample) {
  const ModelConfig& config = machine_.config();
  const KvCache& cache = machine_.cache();
  const std::vector<PassRow>& given = text_.rows;
  const int layer = 1;
  const long begin = 1, end = 3;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(PassRows rows, PassRows::Create(config, /*capacity=*/512));
    RETURN_IF_ERROR(rows.Set(given, cache, /*rows_together=*/256));
    const RunArguments arguments = rows.ArgumentsOf(layer, {begin, end});   // of the rows at these places
    EXPECT_EQ(arguments.rows, 2);
    EXPECT_EQ(PathLength(arguments.paths[0]), 2);
    rows.Keep({0, 2});                                                      // now the places are 0 and 1, their numbers 0 and 2
    EXPECT_EQ(rows.numbers(), absl::MakeConstSpan({0, 2}));
    EXPECT_EQ(rows.tokens(), absl::MakeConstSpan({72, 108}));
    EXPECT_EQ(PathLength(rows.ArgumentsOf(layer, {1, 2}).paths[0]), 3);
    EXPECT_NEAR(rows.ArgumentsOf(layer, {1, 2}).rope_tables[0][0], std::cos(2.0), 1e-6) << "turned by its own position";
    return absl::OkStatus();
  };
  Must(run());
}

TEST_F(PassParts, CheckHeaderExample) {
  const ModelConfig& config = machine_.config();
  const KvCache& cache = machine_.cache();
  std::vector<PassRow> rows = text_.rows;
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckPassRows(rows, config, cache, /*most_rows=*/512));
    return absl::OkStatus();
  };
  Must(run());
  rows[3].token = 300;
  EXPECT_EQ(run().message(), "row 3: token: found 300, expected 0 to 264");
}

TEST_F(PassParts, BlocksHeaderExample) {
  const CompiledModel& model = machine_.runner().model();
  VanishingSource source(model_.Units());
  BlockRunner blocks(model, source, machine_.device(), /*timeline=*/nullptr);
  const int block = model.output_norm(), next_block = model.head(0), layer = model.layers(), rows = 1;
  std::vector<float> in(static_cast<size_t>(machine_.config().width), 2), out(in.size());
  RunArguments arguments = {.rows = 1, .buffers = {{in.data(), machine_.config().width}, {out.data(), machine_.config().width}}};
  const auto run = [&]() -> absl::Status {
    const BlockRunner::Leased leased = blocks.Lease(block);                // its weights are given back where this ends
    RETURN_IF_ERROR(leased.status());
    EXPECT_EQ(source.live(), 1);
    RETURN_IF_ERROR(blocks.Run({block, rows}, /*detail=*/layer, arguments, /*next=*/{next_block, rows}));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(source.live(), 0);
  EXPECT_NE(out[0], 0);
  std::atomic<bool> cancel = true;
  blocks.SetCancel(nullptr, &cancel);
  EXPECT_EQ(run().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tessera
