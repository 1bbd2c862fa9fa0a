// Three ways to have adapters of several tasks in memory: the same bits, another size.
#include "tessera/model/adapter_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/adapter_numbers.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/random_adapter.h"

namespace tessera {
namespace {

using F = BlockFormat;

constexpr LoraMode kModes[] = {LoraMode::kInput, LoraMode::kMask, LoraMode::kGraph};
const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111, 44, 32, 119, 261, 114};

// Unequal ranks and formats, on all seven matrices and on some.
std::vector<LoraAdapter> Tasks(const ModelConfig& config) {
  std::vector<LoraAdapter> tasks;
  tasks.push_back(RandomAdapter(config, 8, kAllTargets, 1, 1, F::kF16));
  tasks.push_back(RandomAdapter(config, 3, kAllTargets, 2, -0.5f, F::kF16));
  tasks.push_back(RandomAdapter(config, 17, 0b0100101u, 3, 1, F::kBF16));
  tasks.push_back(RandomAdapter(config, 1, 0b1010110u, 4, 2, F::kF32));
  return tasks;
}

AdapterSet SetOf(LoraMode mode, const ModelConfig& config) { return Must(AdapterSet::Create(mode, Tasks(config), config)); }

TEST(AdapterSet, HeaderExample) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}}));
  const ModelConfig& config = model.config();
  std::vector<LoraAdapter> adapters = Tasks(config);
  std::vector<PassRow> rows;
  const auto run = [&]() -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const AdapterSet set, AdapterSet::Create(LoraMode::kMask, std::move(adapters), config));
    rows.push_back({/*token=*/1, {}, &set[2]});
    rows.clear();
    return set.bytes() + set.padding_bytes();
  };
  EXPECT_GT(Must(run()), 0);
}

// Rows of all tasks and of none, side by side in one pass, on each device and path: each has the bits of its adapter alone.
TEST(AdapterSet, RowsHaveTheBitsOfTheirAdapterAloneInEachWay) {
  for (const std::vector<F>& formats : {std::vector<F>{F::kF32}, {F::kQ8_0, F::kQ4_1, F::kQ4_0}}) {
    const LoadedWeights model(TinyModelBuilder({.formats = formats, .seed = 14}));
    const std::vector<LoraAdapter> alone = Tasks(model.config());
    for (const LoraMode mode : kModes) {
      const AdapterSet set = SetOf(mode, model.config());
      for (const KernelPath path : SupportedKernelPaths()) {
        SCOPED_TRACE(absl::StrCat(LoraModeName(mode), " ", KernelPathName(path)));
        Machine machine(model, {.threads = 2, .path = path}), other(model, {.path = path});
        std::vector<KvCache::SequenceId> sequences;
        for (int s = 0; s <= set.size(); ++s) Must(machine.cache().Extend(sequences.emplace_back(machine.cache().NewSequence()), 10));
        std::vector<KvCache::Paths> paths;
        for (int i = 0; i < 10; ++i) {
          for (const KvCache::SequenceId sequence : sequences) paths.push_back(machine.cache().PathsOf(sequence, i + 1));
        }
        std::vector<PassRow> rows;
        for (size_t i = 0; i < paths.size(); ++i) {
          const int task = static_cast<int>(i % sequences.size()) - 1;
          rows.push_back({kTokens[i / sequences.size()], paths[i], task < 0 ? nullptr : &set[task]});
        }
        Must(machine.Run(rows));
        const std::vector<std::vector<float>> logits = machine.LogitsOfAll(static_cast<int>(rows.size()));
        for (int task = -1; task < set.size(); ++task) {
          const LoraAdapter* const own = task < 0 ? nullptr : &alone[static_cast<size_t>(task)];
          EXPECT_EQ(logits[logits.size() - sequences.size() + static_cast<size_t>(task + 1)], other.Plain(kTokens, own)) << task;
        }
      }
    }
  }
}

TEST(AdapterSet, TheReferencePathComputesTheSameInEachWay) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}, .seed = 14}), WeightEncoding::kFloat32);
  const std::vector<LoraAdapter> alone = Tasks(model.config());
  Machine machine(model, {});
  for (const LoraMode mode : kModes) {
    const AdapterSet set = SetOf(mode, model.config());
    for (int task = 0; task < set.size(); ++task) {
      EXPECT_EQ(machine.Plain(kTokens, &set[task]), machine.Plain(kTokens, &alone[static_cast<size_t>(task)])) << LoraModeName(mode);
    }
  }
}

// Two adapters of the first queries, of ranks 1 and 5, whose products are less than any number.
std::vector<LoraAdapter> VanishingTasks(const ModelConfig& config) {
  const auto [in, out] = LoraShapeOf(config, LoraTarget::kQuery);
  std::vector<LoraAdapter> both;
  for (const int rank : {1, 5}) {
    both.push_back(Must(LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets)));
    Must(both.back().Set(0, LoraTarget::kQuery, {.in = in, .out = out, .rank = rank, .scale = 1,
                                                 .a = std::vector<float>(static_cast<size_t>(rank * in), 0x1p-20f),
                                                 .b = std::vector<float>(static_cast<size_t>(rank * out), -0x1p-100f)}));
  }
  return both;
}

// What W x and this product make together, where W x is -0: each of its products is less than any number, too.
std::vector<float> SumWith(const AdapterProduct& product, LoraShape shape, KernelPath path) {
  const auto [in, out] = shape;
  Graph graph;
  graph.adapters = 1;
  const BufferId x = graph.AddInput("x", in), y = graph.AddOutput("y", out);
  const MatrixSpec spec = {"w", F::kF32, out, in};
  graph.Add(Linear{.x = x, .products = {{.weight = graph.AddMatrix(spec), .y = y, .adapter = 0}}});
  const CompiledGraph compiled = Must(Compile(graph, {.row_capacity = 1}));
  AlignedBuffer weights = Must(AlignedBuffer::Allocate(compiled.needs.packed_bytes[0], AlignedBuffer::Pages::kSmall, "w"));
  const std::vector<float> small(static_cast<size_t>(in * out), -0x1p-100f);
  Must(PackedMatrix::Pack(spec, {reinterpret_cast<const std::byte*>(small.data()), small.size() * sizeof(float)}, weights.bytes()));
  std::vector<float> row(static_cast<size_t>(in), 0x1p-100f), result(static_cast<size_t>(out));
  const absl::Span<const std::byte> bytes[] = {weights.bytes()};
  const AdapterProduct* const of_row[] = {&product};
  ThreadPool pool(1);
  HostDevice device(pool, {.path = path});
  const std::unique_ptr<LoadedGraph> loaded = Must(device.Load(compiled));
  RunArguments arguments = {.rows = 1, .buffers = {{row.data(), in}, {result.data(), out}}, .weights = bytes};
  arguments.adapters = of_row;
  Must(device.Run(*loaded, arguments));
  return result;
}

// What a mask or padding leaves out must not turn -0 into +0.
TEST(AdapterSet, ZerosKeepTheirSigns) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}, .seed = 3}));
  const LoraShape shape = LoraShapeOf(model.config(), LoraTarget::kQuery);
  const std::vector<LoraAdapter> alone = VanishingTasks(model.config());
  for (const KernelPath path : SupportedKernelPaths()) {
    for (const LoraMode mode : kModes) {
      const AdapterSet set = Must(AdapterSet::Create(mode, VanishingTasks(model.config()), model.config()));
      for (size_t task = 0; task < 2; ++task) {
        const std::vector<float> expected = SumWith(alone[task].Layer(0)[0], shape, path);
        EXPECT_TRUE(expected[0] == 0 && std::signbit(expected[0])) << "or nothing here would show much";
        const std::vector<float> found = SumWith(set[static_cast<int>(task)].Layer(0)[0], shape, path);
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0) << LoraModeName(mode) << " task " << task;
      }
    }
  }
}

TEST(AdapterSet, MemoryMatchesTheLayoutOfEachMode) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}}));
  const ModelConfig& config = model.config();
  const std::vector<LoraAdapter> alone = Tasks(config);
  int64_t own = 0;
  std::vector<int> largest;
  for (const LoraAdapter& adapter : alone) {
    own += adapter.bytes();
    RaiseRanks(adapter.Ranks(), largest);
  }
  const AdapterSet input = SetOf(LoraMode::kInput, config), mask = SetOf(LoraMode::kMask, config), graph = SetOf(LoraMode::kGraph, config);
  for (const AdapterSet* const set : {&input, &mask, &graph}) {
    for (int task = 0; task < set->size(); ++task) EXPECT_EQ((*set)[task].Sum(), alone[static_cast<size_t>(task)].Sum()) << "as before";
  }
  EXPECT_EQ(graph.bytes(), own);
  EXPECT_EQ(graph.padding_bytes(), 0);
  EXPECT_EQ(graph.graphs(), 4) << "as many sets of ranks";
  EXPECT_EQ(mask.padding_bytes(), 0);
  EXPECT_GT(mask.bytes(), own) << "beside others the numbers of 16 bits are in another format";
  EXPECT_EQ(mask.graphs(), 1);
  EXPECT_EQ(input.bytes() - input.padding_bytes(), own);
  int64_t padded = 0;
  const std::vector<LoraShape> shapes = LoraShapesOf(config);
  for (size_t place = 0; place < shapes.size(); ++place) {
    for (const LoraAdapter& adapter : alone) {
      const AdapterProduct& product = adapter.Layer(static_cast<int>(place) / kLoraTargets)[place % kLoraTargets];
      const int64_t size = product.a != nullptr && product.format == F::kF32 ? 4 : 2;
      padded += largest[place] * (shapes[place].in + shapes[place].out) * size;
    }
  }
  EXPECT_EQ(input.bytes(), padded);
  EXPECT_EQ(input.graphs(), 1);
}

// Equal ranks are what the one-for-all paper takes for granted: then nothing is padded, and a mask takes what adapters take.
TEST(AdapterSet, EqualRanksNeedNoPadding) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}}));
  const auto tasks = [&] {
    std::vector<LoraAdapter> both;
    for (const uint64_t seed : {1, 2}) both.push_back(RandomAdapter(model.config(), 4, kAllTargets, seed, 1, F::kF16));
    return both;
  };
  for (const LoraMode mode : kModes) {
    const AdapterSet set = Must(AdapterSet::Create(mode, tasks(), model.config()));
    EXPECT_EQ(set.padding_bytes(), 0);
    EXPECT_EQ(set.bytes(), 2 * tasks()[0].bytes());
    EXPECT_EQ(set.graphs(), 1);
    for (int task = 0; task < 2; ++task) EXPECT_EQ(set[task].Sum(), tasks()[static_cast<size_t>(task)].Sum()) << "known as before";
  }
}

// Under a mask the adapters of a matrix lie one behind the other, in one matrix.
TEST(AdapterSet, AMaskHasAllRanksOfAMatrixSideBySide) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}}));
  AdapterSet set = SetOf(LoraMode::kMask, model.config());
  const AdapterSet moved = std::move(set);
  const LoraShape shape = LoraShapeOf(model.config(), LoraTarget::kQuery);
  const AdapterProduct &first = moved[0].Layer(1)[0], &second = moved[1].Layer(1)[0], &third = moved[2].Layer(1)[0];
  const auto behind = [](const void* numbers, int64_t bytes) { return static_cast<const std::byte*>(numbers) + bytes; };
  EXPECT_EQ(first.format, F::kF32) << "the third is in BF16";
  EXPECT_EQ(second.a, behind(first.a, 8 * shape.in * 4));
  EXPECT_EQ(third.a, behind(second.a, 3 * shape.in * 4));
  EXPECT_EQ(third.b, behind(first.b, 11 * shape.out * 4));
  EXPECT_EQ(moved[3].Layer(1)[0].a, nullptr);
  EXPECT_EQ(WideA(second, shape.in), WideA(Tasks(model.config())[1].Layer(1)[0], shape.in));
}

TEST(AdapterSet, AdaptersOfAnotherModelAreRefused) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kF32}}));
  ModelConfig wider = model.config();
  wider.width *= 2;
  for (const LoraMode mode : kModes) {
    EXPECT_EQ(AdapterSet::Create(mode, Tasks(model.config()), wider).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Must(AdapterSet::Create(mode, {}, wider)).bytes(), 0);
  }
}

}  // namespace
}  // namespace tessera
