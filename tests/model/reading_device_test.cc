#include "tessera/model/reading_device.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/pass_runner.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/tests/fakes/loaded_weights.h"
#include "tessera/tests/fakes/packed_model.h"

namespace tessera {
namespace {

// Notes which units are leased.
class NotingSource : public WeightSource {
 public:
  explicit NotingSource(WeightSource& source) : source_(source) {}
  int units() const override { return source_.units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override {
    leased.insert(unit);
    return source_.Acquire(unit);
  }
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override {
    for (const UnitPart& part : parts) leased.insert(part.unit);
    return source_.AcquireParts(parts);
  }
  std::set<int> leased;

 private:
  void Release(int, absl::Span<const std::byte>) override {}
  WeightSource& source_;
};

class ReadingDevices : public testing::Test {
 protected:
  ReadingDevices() : file_(Must(TsrReader::Open(packed_.packed()))), weights_(packed_.gguf()), source_(weights_.source()) {}

  CompiledModel Compiled() const {
    return Must(CompiledModel::Create(weights_.config(), weights_.layout(), {.row_capacity = 16, .graph_rows = {4}}));
  }
  // Logits of the last of these tokens, read in one pass.
  std::vector<float> Logits(Device& device, const std::function<void()>& start) {
    const ModelConfig& config = weights_.config();
    const std::unique_ptr<PassRunner> runner =
        Must(PassRunner::Create(config, weights_.layout(), Compiled(), source_, device, {.loads_graphs = false}));
    start();
    const auto cache = Must(KvCache::Create({.layers = static_cast<int>(config.layers.size()), .heads = config.kv_heads,
                                             .head_size = config.head_size, .slots = 64, .format = device.kv_format()}));
    const KvCache::SequenceId sequence = cache->NewSequence();
    Must(cache->MakeRoom(5));
    Must(cache->Extend(sequence, 5));
    std::vector<KvCache::Paths> paths;
    for (int i = 0; i < 5; ++i) paths.push_back(cache->PathsOf(sequence, i + 1));
    std::vector<PassRow> rows;
    for (int i = 0; i < 5; ++i) rows.push_back({.token = 7 * i, .paths = paths[static_cast<size_t>(i)]});
    const HiddenRows done = Must(runner->Run(rows, *cache, {4}));
    std::vector<float> logits(static_cast<size_t>(config.vocabulary));
    Must(runner->Logits(done, {4}, TensorView<float>(logits.data(), 1, config.vocabulary)));
    return logits;
  }

  const PackedTiny packed_{{.layers = 3}};
  const std::unique_ptr<TsrReader> file_;
  const LoadedWeights weights_;
  NotingSource source_;
  ThreadPool pool_{1};
};

TEST_F(ReadingDevices, HeaderExample) {
  HostDevice numbers(pool_);
  const CompiledModel model = Compiled();
  ReadingDevice device(numbers, *file_, model, {});
  GraphStore store(device, model.variants());
  Must(store.Switch(model.layer(0), /*rows=*/16));
  EXPECT_FALSE(store.IsReady(model.layer(0)));
  Must(device.Start());
  Must(device.AwaitLoads());
  EXPECT_TRUE(store.IsReady(model.layer(0)));
  EXPECT_EQ(device.stats().loads, 1);
}

TEST_F(ReadingDevices, BitsMatchTheOtherDeviceAndLayersAreNotLeased) {
  HostDevice numbers(pool_);
  const std::vector<float> expected = Logits(numbers, [] {});
  source_.leased.clear();
  ReadingDevice device(numbers, *file_, Compiled(), {});
  EXPECT_EQ(Logits(device, [&] { Must(device.Start()); }), expected);
  EXPECT_FALSE(source_.leased.empty());
  int held = 0;
  for (int unit = 0; unit < file_->units(); ++unit) {
    held += device.HoldsUnit(unit) ? 1 : 0;
    EXPECT_FALSE(device.HoldsUnit(unit) && source_.leased.contains(unit)) << unit;
  }
  EXPECT_GE(held, 3) << "those of each layer";
  EXPECT_EQ(device.held_bytes(), 0) << "all graphs have ended";
  EXPECT_EQ(device.most_held_bytes(), device.memory_bytes());
}

TEST_F(ReadingDevices, MemoryIsThatOfOneGraphOfEachBlockOrOfAll) {
  HostDevice numbers(pool_);
  const CompiledModel model = Compiled();
  ReadingDevice one(numbers, *file_, model, {}), all(numbers, *file_, model, {.one_graph_of_each_block = false});
  EXPECT_EQ(all.memory_bytes(), 2 * one.memory_bytes());
  int64_t packs = 0;
  for (int layer = 0; layer < 3; ++layer) {
    const CompiledGraph& graph = *model.variants()[static_cast<size_t>(model.layer(layer))][0];
    const int64_t bytes = one.CostOfBlock(model.layer(layer), graph).bytes - numbers.CostOf(graph).bytes;
    int64_t stored = 0;
    for (const int unit : model.block(model.layer(layer)).units) stored += file_->StoredBytes(unit);
    EXPECT_EQ(bytes, stored) << "of whole units, each layer's own";
    packs += bytes;
  }
  EXPECT_GT(one.memory_bytes(), packs) << "the last layer's keys and values have a graph of their own";
  EXPECT_LE(one.memory_bytes(), packs + packs / 3);
  for (const int block : {CompiledModel::kEmbedding, CompiledModel::kLastEmbeddingPanel, model.output_norm(), model.head(0)}) {
    EXPECT_FALSE(one.HoldsWeights(block)) << block;
  }
  EXPECT_TRUE(one.HoldsWeights(model.layer(0)) && one.HoldsWeights(model.last_keys_and_values()));
}

TEST_F(ReadingDevices, ASecondGraphOfABlockIsRefusedUntilTheFirstEnds) {
  HostDevice numbers(pool_);
  const CompiledModel model = Compiled();
  ReadingDevice device(numbers, *file_, model, {});
  const int block = model.layer(1);
  const BlockVariants& graphs = model.variants()[static_cast<size_t>(block)];
  std::unique_ptr<LoadedGraph> first = Must(device.LoadBlock(block, *graphs[0]));
  EXPECT_EQ(device.LoadBlock(block, *graphs[1]).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(first->bytes(), device.CostOfBlock(block, *graphs[0]).bytes);
  first.reset();
  const std::unique_ptr<LoadedGraph> second = Must(device.LoadBlock(block, *graphs[1]));
  EXPECT_EQ(second->rows(), 16);
  EXPECT_FALSE(second->is_ready());
  EXPECT_EQ(device.Submit(*second, {.rows = 1}).code(), absl::StatusCode::kFailedPrecondition) << "before Start";
}

TEST_F(ReadingDevices, TheCostOfALoadIsLearntFromLoads) {
  HostDevice numbers(pool_);
  const CompiledModel model = Compiled();
  ReadingDevice device(numbers, *file_, model, {});
  const int block = model.layer(0);
  const CompiledGraph& graph = *model.variants()[static_cast<size_t>(block)][0];
  EXPECT_EQ(device.CostOfBlock(block, graph).seconds, 0);
  Must(device.Start());
  const std::unique_ptr<LoadedGraph> loaded = Must(device.LoadBlock(block, graph));
  Must(device.AwaitLoads());
  EXPECT_GT(device.CostOfBlock(block, graph).seconds, 0);
  EXPECT_EQ(device.CostOfBlock(model.head(0), *model.variants()[static_cast<size_t>(model.head(0))][0]).seconds, 0);
}

}  // namespace
}  // namespace tessera
