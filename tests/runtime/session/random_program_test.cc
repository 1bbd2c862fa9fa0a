// DESIGN.md, idea 5: a row's bits depend on its own tokens, adapter and the weights, and on nothing else.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/cpu_features.h"
#include "tessera/quant/activation.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/tests/fakes/random_program.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

using F = BlockFormat;

// A model and its share of the steps.
struct Case {
  std::string name;
  std::unique_ptr<LoadedWeights> model;
  int steps;
  KvFormat kv_format = KvFormat::kHalf;
};

// Matrices in tiles, as a phone NPU computes them: by recipe 001, as FP16, and each in another scheme.
void AddNpuCases(std::vector<Case>& cases) {
  const TinyModel plain = {.formats = {F::kQ4_0, F::kQ8_0}, .seed = 3};
  const TinyModel windowed = {.architecture = "gemma3", .feed_forward = 64, .layers = 7, .window = 6, .tied = true,
                              .formats = {F::kQ8_0, F::kQ4_0}, .seed = 4};
  const TinyModel biased = {.formats = {F::kQ4_0, F::kQ8_0}, .biases = AllLayerBiases(), .seed = 7};
  const std::string schemes = "int4-tile,attn_q=nf4-tile,attn_k=int4-channel-a16,attn_v=fp16,ffn_up=iq4_nl-common,ffn_down=int8-tensor-a8";
  cases.push_back({"npu, llama, 001", std::make_unique<LoadedWeights>(TinyModelBuilder(plain), "001"), 1200});
  cases.push_back({"npu, gemma3, fp16", std::make_unique<LoadedWeights>(TinyModelBuilder(windowed), "fp16"), 400});
  cases.push_back({"npu, llama with all biases, many schemes", std::make_unique<LoadedWeights>(TinyModelBuilder(biased), schemes), 400});
}

// The models kept in the tree have FP16 weights, slow in portable code; the quantized ones take most of the steps.
std::vector<Case> Cases() {
  const std::string golden = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/";
  const TinyModel mixed = {.formats = {F::kQ4_0, F::kQ4_1, F::kQ8_0, F::kQ5_0}, .seed = 3};
  const TinyModel windowed = {.architecture = "gemma3", .feed_forward = 64, .layers = 7, .window = 6, .tied = true,
                              .formats = {F::kQ8_0, F::kQ4_0}, .seed = 4};
  const TinyModel large_blocks = {.architecture = "qwen3", .width = 256, .feed_forward = 256, .heads = 4, .head_size = 64, .layers = 1,
                                  .formats = {F::kQ4_K, F::kQ6_K, F::kQ8_0}, .seed = 5};
  const TinyModel biased = {.formats = {F::kQ4_0, F::kQ8_0}, .biases = AllLayerBiases(), .seed = 7};
  const TinyModel biased_head = {.architecture = "qwen2", .formats = {F::kQ8_0}, .biases = {"output.bias"}, .seed = 8};
  std::vector<Case> cases;
  cases.push_back({"llama, F16", std::make_unique<LoadedWeights>(golden + "llama.gguf"), 900});
  cases.push_back({"gemma3, F16", std::make_unique<LoadedWeights>(golden + "gemma3.gguf"), 300});
  cases.push_back({"llama, Q4_0 Q4_1 Q8_0 Q5_0", std::make_unique<LoadedWeights>(TinyModelBuilder(mixed)), 5400});
  cases.push_back(
      {"llama, Q4_0 Q4_1 Q8_0 Q5_0, 8-bit cache", std::make_unique<LoadedWeights>(TinyModelBuilder(mixed)), 1200, KvFormat::kInt8});
  cases.push_back({"gemma3, Q8_0 Q4_0, 8-bit cache", std::make_unique<LoadedWeights>(TinyModelBuilder(windowed)), 300, KvFormat::kInt8});
  cases.push_back({"gemma3, Q8_0 Q4_0", std::make_unique<LoadedWeights>(TinyModelBuilder(windowed)), 1200});
  cases.push_back({"llama with all biases, Q4_0 Q8_0", std::make_unique<LoadedWeights>(TinyModelBuilder(biased)), 400});
  cases.push_back({"qwen2 with biases of layers and head, Q8_0", std::make_unique<LoadedWeights>(TinyModelBuilder(biased_head)), 200});
  cases.push_back({"qwen3, Q4_K Q6_K Q8_0", std::make_unique<LoadedWeights>(TinyModelBuilder(large_blocks)), 700});
  AddNpuCases(cases);
  return cases;
}

// One thread and slots in a row, two and three threads, scattered slots, a few rows of a pass at a time: all must agree, with each other
// and with plain decoding.
void RunPrograms(const Case& test, KernelPath path) {
  // Threads beyond the cores wait for each other in every pass: they get fewer of the steps.
  const std::pair<Machine::Options, int> machines[] = {{{.threads = 1, .path = path}, 40},
                                                       {{.threads = 1, .path = path, .scatter_seed = 5}, 25},
                                                       {{.threads = 1, .path = path, .scatter_seed = 7, .rows_together = 7}, 20},
                                                       {{.threads = 2, .path = path, .scatter_seed = 6}, 10},
                                                       {{.threads = 3, .path = path}, 5}};  // Percent of the steps.
  Logbook book;
  int64_t rows = 0, stops = 0, drops = 0;
  uint64_t seed = TestSeed();
  for (auto [options, percent] : machines) {
    options.kv_format = test.kv_format;
    SCOPED_TRACE(absl::StrCat(options.threads, " threads, scatter seed ", options.scatter_seed));
    Machine machine(*test.model, options);
    RandomProgram program({.seed = seed++, .steps = Fewer(test.steps * percent / 100, test.steps * percent / 1000),
                           .shuffle = options.rows_together > 60});
    EXPECT_EQ(program.Run(machine, book), "");
    EXPECT_EQ(machine.cache().free_slots(), machine.cache().slots());
    rows += program.rows();
    stops += program.stops();
    drops += program.drops();
  }
  Machine oracle(*test.model, {.path = path, .kv_format = test.kv_format});
  EXPECT_EQ(book.CompareWithPlain(oracle), "");
  EXPECT_GT(rows, Fewer(test.steps, test.steps / 10));            // A program that does nothing proves nothing.
  EXPECT_GT(rows, static_cast<int64_t>(book.texts()));            // Some texts were computed in more than one way.
  EXPECT_GT(stops, Fewer(test.steps / 5, test.steps / 50));       // Passes stopped between layers,
  EXPECT_GT(drops, Fewer(test.steps / 100, 0));                   // and dropped rows there.
}

// More than ten thousand steps on each path.
TEST(RandomProgram, EveryRowHasTheBitsOfPlainDecoding) {
  const std::vector<Case> cases = Cases();
  for (const KernelPath path : SupportedKernelPaths()) {
    int steps = 0;
    for (const Case& test : cases) {
      SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed(), ", ", KernelPathName(path), " kernels, ", test.name));
      RunPrograms(test, path);
      steps += test.steps;
    }
    EXPECT_EQ(steps, 12'600);
  }
}

// Five sequences of up to 64 tokens and their drafts share 96 slots, a window and a pass; the oracle keeps all positions.
TEST(RandomProgram, WindowsThatAreGivenUpChangeNoBit) {
  for (const int window : {2, 6}) {
    const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .feed_forward = 64, .layers = 7, .window = window,
                                              .formats = {F::kQ8_0, F::kQ4_0}, .seed = 4}));
    Logbook book;
    for (const auto& [scatter_seed, rows_together] : {std::pair<uint64_t, int>{0, 64}, {8, 64}, {9, 3}}) {
      SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed(), ", window ", window, ", scatter seed ", scatter_seed));
      Machine machine(model, {.scatter_seed = scatter_seed, .rows_together = rows_together, .windowed_sequences = 1});
      ASSERT_EQ(machine.cache().groups(), 2);
      RandomProgram program({.seed = TestSeed() + window, .steps = 300, .longest = 58, .shuffle = rows_together == 64});
      EXPECT_EQ(program.Run(machine, book), "");
      EXPECT_GT(program.restored(), 5);
      EXPECT_GT(program.stops(), 50);
      EXPECT_GT(program.drops(), 5);
    }
    Machine oracle(model, {});
    ASSERT_EQ(oracle.cache().groups(), 1);
    EXPECT_EQ(book.CompareWithPlain(oracle), "");
  }
}

// A device that computes all rows of a graph and holds two graphs, one that runs and the next: each graph is loaded anew in every pass.
TEST(RandomProgram, ADeviceOfStaticGraphsHasTheBitsOfPlainDecoding) {
  int64_t stops = 0, loads = 0, loads_ahead = 0;
  for (const Case& test : Cases()) {
    if (test.model->layout().encoding() == WeightEncoding::kTiles) continue;   // This device's numbers are HostDevice's.
    SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed(), ", ", test.name));
    Logbook book;
    for (const auto& [rows_together, graph_rows] : {std::pair<int, std::vector<int>>{64, {}}, {16, {1, 5}}}) {
      Machine machine(*test.model, {.kv_format = test.kv_format, .rows_together = rows_together, .static_graphs = 2,
                                    .graph_rows = graph_rows});
      RandomProgram program({.seed = TestSeed(), .steps = Fewer(test.steps / 50, 5), .longest = 24, .shuffle = rows_together == 64});
      EXPECT_EQ(program.Run(machine, book), "");
      const StaticDevice& device = static_cast<const StaticDevice&>(machine.device());
      EXPECT_EQ(device.most_loaded(), 2);
      EXPECT_GT(device.padded_rows(), program.rows());
      stops += program.stops();
      loads += device.loads();
      loads_ahead += device.loads_ahead();
    }
    Machine oracle(*test.model, {.kv_format = test.kv_format});
    EXPECT_EQ(book.CompareWithPlain(oracle), "");
  }
  EXPECT_GT(stops, 0);
  EXPECT_GT(loads_ahead, loads / 2);   // Those of the embedding, and after a stop, come when they are needed.
}

TEST(RandomProgram, AllKernelPathsHaveTheSameBits) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed(), ", ", test.name));
    Logbook book;
    for (const KernelPath path : SupportedKernelPaths()) {
      Machine machine(*test.model, {.path = path, .kv_format = test.kv_format});
      EXPECT_EQ(RandomProgram({.seed = TestSeed(), .steps = test.steps / 50}).Run(machine, book), "") << KernelPathName(path);
    }
  }
}

// A right product, but for several rows that are not fine its groups are added from the last to the first: as good as any other,
// and other bits.
template <BlockFormat kFormat>
void OtherOrderForSeveralRows(const PanelJob& job) {
  if (job.rows == 1 || job.fine) return MatMulKernelsFor(BestKernelPath()).panels[static_cast<int>(kFormat)](job);
  const MatrixSpec spec = {"planted", kFormat, job.out_features, job.in_features};
  const PackedMatrix matrix = Must(PackedMatrix::Open(spec, {job.panels, static_cast<size_t>(Must(PackedMatrix::BytesFor(spec)))}));
  std::vector<float> weights(job.in_features);
  const int64_t groups = QuantizedRows::Groups(job.in_features);
  for (int64_t out = 32 * job.panel_begin; out < std::min(32 * job.panel_end, job.out_features); ++out) {
    matrix.ReadRow(out, weights.data());
    for (int64_t row = 0; row < job.rows; ++row) {
      const ActivationGroup* x = reinterpret_cast<const ActivationGroup*>(job.x + row * job.x_stride);
      float sum = 0;
      for (int64_t g = groups - 1; g >= 0; --g) {
        double of_group = 0;
        for (int k = 0; k < 32; ++k) of_group += weights[g * 32 + k] * x[g].values[k];
        sum += static_cast<float>(of_group * x[g].scale);
      }
      job.y[row * job.y_stride + out] = sum;
    }
  }
}

TEST(RandomProgram, AKernelThatAddsInAnotherOrderIsCaught) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kQ8_0}, .seed = 6}));
  MatMulKernels planted = MatMulKernelsFor(BestKernelPath());
  planted.panels[static_cast<int>(F::kQ8_0)] = OtherOrderForSeveralRows<F::kQ8_0>;

  // With one row per pass nothing is shown, and the results are right.
  Machine right(model, {}), wrong(model, {.matmul = &planted});
  const std::vector<TokenId> tokens = {7, 70, 170, 3, 9};
  EXPECT_EQ(right.Plain(tokens), wrong.Plain(tokens));
  const std::vector<float> expected = right.Plain(tokens), near = wrong.Extend(wrong.cache().NewSequence(), tokens).back();
  for (size_t i = 0; i < near.size(); ++i) EXPECT_NEAR(near[i], expected[i], 1e-3) << i;

  Logbook book;
  Machine machine(model, {.matmul = &planted});
  const std::string inside = RandomProgram({.seed = TestSeed(), .steps = 300}).Run(machine, book);
  const std::string against_plain = book.CompareWithPlain(right);
  EXPECT_NE(inside + against_plain, "") << "TESSERA_TEST_SEED=" << TestSeed();
}

// A fault that no mix of rows can show: only plain decoding on right kernels does.
TEST(RandomProgram, AKernelThatIsWrongForAllRowsAlikeIsCaughtByTheOracle) {
  const LoadedWeights model(TinyModelBuilder({.formats = {F::kQ8_0}, .seed = 6}));
  static const MatMulKernels& right = MatMulKernelsFor(BestKernelPath());
  MatMulKernels planted = right;
  planted.panels[static_cast<int>(F::kQ8_0)] = [](const PanelJob& job) {
    right.panels[static_cast<int>(F::kQ8_0)](job);
    if (job.panel_begin > 0 || job.panel_end == 0) return;
    for (int64_t row = 0; row < job.rows; ++row) job.y[row * job.y_stride] *= 1 + 0x1p-23f;
  };
  Logbook book;
  Machine machine(model, {.matmul = &planted}), oracle(model, {});
  SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed()));
  EXPECT_EQ(RandomProgram({.seed = TestSeed(), .steps = 100}).Run(machine, book), "");
  EXPECT_NE(book.CompareWithPlain(oracle), "");
}

}  // namespace
}  // namespace tessera
