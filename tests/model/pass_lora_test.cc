// Adapters as inputs of a pass: each row has its own, and rows without one do not notice.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tessera/model/lora.h"
#include "tessera/tests/fakes/adapter_numbers.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

using F = BlockFormat;
using Rows = std::vector<std::vector<float>>;

const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111, 44, 32, 119, 261, 114, 7, 250, 0, 33};

// Root of the mean square of a - b, relative to b's.
double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(error / size);
}

// With FP32 weights both paths multiply floats, adapters included: what differs is the fast path's FP16 cache. A relative error of
// 2^-12 in a key moves a score of size 8 by 0.002, and the row's attention by that share; twice that for two layers. Without the
// adapter the same model is far away.
TEST(PassLora, BothPathsAgreeOnRandomAdapters) {
  for (const std::string architecture : kArchitectures) {
    const TinyModel tiny = {.architecture = architecture, .head_size = 24, .window = architecture == "gemma3" ? 6 : 0,
                            .formats = {F::kF32}, .seed = 12};
    const LoadedWeights packed(TinyModelBuilder(tiny)), wide(TinyModelBuilder(tiny), WeightEncoding::kFloat32);
    for (const auto& [rank, targets] : {std::pair{1, kAllTargets}, {4, kAllTargets}, {8, 0b0000101u}, {3, 0b1000000u}}) {
      SCOPED_TRACE(absl::StrCat(architecture, " rank ", rank, " targets ", targets));
      const LoraAdapter adapter = RandomAdapter(packed.config(), rank, targets, /*seed=*/rank);
      Machine fast(packed, {.threads = 2}), reference(wide, {.threads = 2});
      const std::vector<float> with = fast.Plain(kTokens, &adapter);
      EXPECT_LT(Distance(with, reference.Plain(kTokens, &adapter)), 4e-3);
      EXPECT_GT(Distance(with, fast.Plain(kTokens)), 0.1);
    }
  }
}

// A bias is added once, to the sum of the product and the adapter's.
TEST(PassLora, AdaptersAndBiasesAddUp) {
  const TinyModel tiny = {.formats = {F::kF32}, .biases = AllLayerBiases(), .seed = 12};
  TinyModel plain = tiny;
  plain.biases.clear();
  const LoadedWeights packed(TinyModelBuilder(tiny)), wide(TinyModelBuilder(tiny), WeightEncoding::kFloat32);
  const LoraAdapter adapter = RandomAdapter(packed.config(), 4, kAllTargets, /*seed=*/3);
  const std::vector<float> with = Machine(packed, {.threads = 2}).Plain(kTokens, &adapter);
  EXPECT_LT(Distance(with, Machine(wide, {}).Plain(kTokens, &adapter)), 4e-3);
  EXPECT_GT(Distance(with, Machine(packed, {}).Plain(kTokens)), 0.1);
  EXPECT_GT(Distance(with, Machine(LoadedWeights(TinyModelBuilder(plain)), {}).Plain(kTokens, &adapter)), 0.1);
}

// Each placeholder is the matrix it is named after: B A added to the weights gives the same logits.
TEST(PassLora, AnAdapterIsASumOnTheWeights) {
  const TinyModel tiny = {.formats = {F::kF32}, .seed = 13};
  const LoadedWeights plain(TinyModelBuilder(tiny), WeightEncoding::kFloat32);
  for (int t = 0; t < kLoraTargets; ++t) {
    const LoraTarget target = static_cast<LoraTarget>(t);
    const LoraAdapter adapter = RandomAdapter(plain.config(), 2, 1u << t, 20 + t, /*scale=*/0.5f);
    const auto [in, out] = LoraShapeOf(plain.config(), target);
    std::vector<std::vector<std::byte>> units = plain.Units();
    for (int layer = 0; layer < 2; ++layer) {
      const std::string name = absl::StrCat("blk.", layer, ".", LoraTargetName(target), ".weight");
      const TensorPart& part = plain.layout().Parts(name)[0];
      float* weights = reinterpret_cast<float*>(units[part.unit].data() + part.offset);
      const AdapterProduct& product = adapter.Layer(layer)[t];
      const std::vector<float> a = WideA(product, in), b = WideB(product, out);
      for (int64_t o = 0; o < out; ++o) {
        for (int64_t i = 0; i < in; ++i) {
          for (int r = 0; r < product.rank; ++r) weights[o * in + i] += product.scale * b[r * out + o] * a[r * in + i];
        }
      }
    }
    VanishingSource source(std::move(units));
    Machine with_adapter(plain, {}), with_sum(plain, {.source = &source});
    EXPECT_LT(Distance(with_adapter.Plain(kTokens, &adapter), with_sum.Plain(kTokens)), 1e-5) << LoraTargetName(target);
    EXPECT_GT(Distance(with_sum.Plain(kTokens), Machine(plain, {}).Plain(kTokens)), 1e-2) << LoraTargetName(target);
  }
}

// A matrix larger than a unit is cut into ranges of rows; the adapter's B is cut with it.
TEST(PassLora, MatricesCutIntoUnitsKeepTheirAdapters) {
  const TinyModel tiny = {.formats = {F::kQ8_0}, .seed = 17};
  const LoadedWeights whole(TinyModelBuilder(tiny)), cut(TinyModelBuilder(tiny), WeightEncoding::kPacked, /*largest_unit=*/4096);
  ASSERT_GT(cut.layout().Parts("blk.0.ffn_up.weight").size(), 1u);
  const LoadedWeights wide(TinyModelBuilder(tiny), WeightEncoding::kFloat32);
  const LoadedWeights wide_cut(TinyModelBuilder(tiny), WeightEncoding::kFloat32, /*largest_unit=*/16384);
  ASSERT_GT(wide_cut.layout().Parts("blk.0.ffn_up.weight").size(), 1u);
  const LoraAdapter adapter = RandomAdapter(whole.config(), 4, kAllTargets, 5);
  EXPECT_EQ(Machine(cut, {.threads = 2}).Plain(kTokens, &adapter), Machine(whole, {}).Plain(kTokens, &adapter));
  EXPECT_LT(Distance(Machine(wide_cut, {}).Plain(kTokens, &adapter), Machine(wide, {}).Plain(kTokens, &adapter)), 1e-5);
}

// Three texts in one pass, row by row in turn: each row has the bits that its own adapter gives it alone.
TEST(PassLora, RowsOfAllAdaptersKeepTheirBitsSideBySide) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kQ8_0, F::kQ4_1, F::kQ4_0}, .seed = 14}));
  const LoraAdapter first = RandomAdapter(model.config(), 4, kAllTargets, 1), second = RandomAdapter(model.config(), 9, 0b1010110u, 2);
  const LoraAdapter* const adapters[] = {nullptr, &first, &second};
  for (const KernelPath path : SupportedKernelPaths()) {
    for (const int threads : {1, 2}) {
      Machine machine(model, {.threads = threads, .path = path, .rows_together = threads == 1 ? 64 : 5});
      const int count = static_cast<int>(kTokens.size());
      KvCache::SequenceId sequences[3];
      for (int s = 0; s < 3; ++s) Must(machine.cache().Extend(sequences[s] = machine.cache().NewSequence(), count));
      std::vector<KvCache::Paths> paths;
      for (int i = 0; i < count; ++i) {
        for (const KvCache::SequenceId sequence : sequences) paths.push_back(machine.cache().PathsOf(sequence, i + 1));
      }
      std::vector<PassRow> rows;
      for (int i = 0; i < 3 * count; ++i) rows.push_back({kTokens[i / 3], paths[i], adapters[i % 3]});
      Must(machine.Run(rows));
      const Rows mixed = machine.LogitsOfAll(3 * count);
      const std::vector<int> wanted = {5, 3 * count - 2, 3 * count - 1};
      Must(machine.Run(rows, wanted));  // The rows that are left keep their adapters.
      EXPECT_EQ(machine.LogitsOf(wanted), (Rows{mixed[5], mixed[3 * count - 2], mixed[3 * count - 1]}));
      Machine alone(model, {.path = path});
      for (int s = 0; s < 3; ++s) {
        EXPECT_EQ(mixed[3 * (count - 1) + s], alone.Plain(kTokens, adapters[s])) << KernelPathName(path) << " adapter " << s;
      }
    }
  }
}

// The rows of a pass that a layer takes together may have no adapter, though others of the pass have one.
TEST(PassLora, RowsWithoutAnAdapterMayStandAlone) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kQ8_0, F::kQ4_1, F::kQ4_0}, .seed = 14}));
  const LoraAdapter adapter = RandomAdapter(model.config(), 4, kAllTargets, 1);
  const int count = static_cast<int>(kTokens.size());
  for (const int rows_together : {64, 5}) {
    Machine machine(model, {.threads = 2, .rows_together = rows_together});
    std::vector<KvCache::Paths> paths;
    for (int s = 0; s < 2; ++s) {
      const KvCache::SequenceId sequence = machine.cache().NewSequence();
      Must(machine.cache().Extend(sequence, count));
      for (int i = 0; i < count; ++i) paths.push_back(machine.cache().PathsOf(sequence, i + 1));
    }
    std::vector<PassRow> rows;
    for (int i = 0; i < 2 * count; ++i) rows.push_back({kTokens[i % count], paths[i], i < count ? nullptr : &adapter});
    Must(machine.Run(rows));
    const Rows logits = machine.LogitsOfAll(2 * count);
    Machine alone(model, {});
    EXPECT_EQ(logits[count - 1], alone.Plain(kTokens));
    EXPECT_EQ(logits[2 * count - 1], alone.Plain(kTokens, &adapter));
  }
}

TEST(PassLora, AnAdapterThatBindsNothingChangesNoBit) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kQ4_0}, .seed = 15}));
  const LoraAdapter unbound = Must(LoraAdapter::Create(2, kLoraTargets));
  Machine machine(model, {.threads = 2});
  EXPECT_EQ(machine.Plain(kTokens, &unbound), machine.Plain(kTokens));
}

// What an adapter does not change keeps its bits: one of the last layer alone leaves the keys and values of all layers as they were.
TEST(PassLora, RowsAfterAnAdaptersRowsReadTheirKeysAndValues) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kQ8_0}, .seed = 16}));
  Machine machine(model, {});
  LoraAdapter last_layer = Must(LoraAdapter::Create(2, kLoraTargets));
  const LoraAdapter all = RandomAdapter(model.config(), 4, kAllTargets, 3);
  const AdapterProduct& down = all.Layer(1)[static_cast<int>(LoraTarget::kDown)];
  Must(last_layer.Set(1, LoraTarget::kDown, {.in = 96, .out = 64, .rank = 4, .scale = 1, .a = WideA(down, 96), .b = WideB(down, 64)}));
  const auto next_token = [&](const LoraAdapter* of_prompt) {
    const KvCache::SequenceId sequence = machine.cache().NewSequence();
    machine.Extend(sequence, kTokens, of_prompt);
    return machine.Extend(sequence, {7})[0];
  };
  EXPECT_EQ(next_token(&last_layer), next_token(nullptr));
  EXPECT_NE(next_token(&all), next_token(nullptr));  // The prompt was read with the adapter, and the cache holds what it read.
}

}  // namespace
}  // namespace tessera
