#include "tessera/model/load_adapter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/adapter_set.h"
#include "tessera/tests/fakes/adapter_logits.h"
#include "tessera/tests/fakes/adapter_numbers.h"
#include "tessera/tests/fakes/adapter_truth.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/rounding_adapters.h"

namespace tessera {
namespace {

LoraAdapter Loaded(const LoadedWeights& model, const std::string& name, float scale = 1) {
  const AdapterFile file = Must(ReadAdapter(GoldenPath("lora/" + name), model.file(), model.config()));
  return Must(MakeLoraAdapter(file, model.config(), scale));
}

// How far the log-probabilities of all golden tokens are off, sorted.
std::vector<double> Errors(Machine& machine, const std::string& logits, const LoraAdapter* adapter, size_t most_rows = 32) {
  std::vector<double> errors;
  for (const GoldenLogits& golden : ReadGoldenLogits("lora/" + logits + ".logits.jsonl")) {
    const KvCache::SequenceId sequence = machine.cache().NewSequence();
    const absl::Span<const TokenId> tokens = golden.tokens;
    for (size_t begin = 0; begin < tokens.size(); begin += most_rows) {
      const std::vector<std::vector<float>> rows = machine.Extend(sequence, tokens.subspan(begin, most_rows), adapter);
      for (size_t i = 0; i < rows.size(); ++i) {
        const std::vector<double> of_position = LogProbabilityErrors(golden.positions[begin + i], rows[i]);
        errors.insert(errors.end(), of_position.begin(), of_position.end());
      }
    }
    machine.cache().Release(sequence);
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

absl::StatusOr<bool> Example(const GgufFile* model, const ModelConfig& config, const std::string& path, std::vector<PassRow>& rows) {
  ASSIGN_OR_RETURN(AdapterFile file, ReadAdapter(path, *model, config));
  ASSIGN_OR_RETURN(LoraAdapter adapter, MakeLoraAdapter(std::move(file), config, /*scale=*/0.5f));
  rows.push_back({/*token=*/1, {}, &adapter});
  const bool given = rows.back().adapter == &adapter;
  rows.clear();
  return given;
}

TEST(LoadAdapter, HeaderExample) {
  const auto model = Must(GgufFile::Open(GoldenPath("tiny/llama.gguf")));
  std::vector<PassRow> rows;
  EXPECT_TRUE(Must(Example(model.get(), Must(ReadModelConfig(*model)), GoldenPath("lora/llama-qv"), rows)));
}

TEST(LoadAdapter, NumbersEqualTheFileWithBTransposed) {
  const LoadedWeights model(GoldenPath("tiny/llama.gguf"));
  const AdapterFile file = Must(ReadAdapter(GoldenPath("lora/llama-qv"), model.file(), model.config()));
  const LoraAdapter adapter = Must(MakeLoraAdapter(file, model.config(), 0.25f));
  const AdapterPair& value = file.pairs[3];
  ASSERT_EQ(value.matrix, "attn_v");
  const AdapterProduct& product = adapter.Layer(1)[static_cast<int>(LoraTarget::kValue)];
  ASSERT_NE(product.a, nullptr);
  EXPECT_EQ(product.rank, 8);
  EXPECT_EQ(product.scale, 0.5f);
  const std::vector<float> a = value.a.Floats(), b = value.b.Floats();
  EXPECT_EQ(product.format, BlockFormat::kF16) << "as the file has them";
  EXPECT_EQ(WideA(product, value.a.columns), a);
  const std::vector<float> transposed = WideB(product, value.b.rows);
  for (int64_t row = 0; row < value.b.rows; ++row) {
    for (int64_t r = 0; r < 8; ++r) EXPECT_EQ(transposed[static_cast<size_t>(r * value.b.rows + row)], b[static_cast<size_t>(row * 8 + r)]);
  }
  EXPECT_EQ(adapter.Layer(0)[static_cast<int>(LoraTarget::kKey)].a, nullptr);
}

// In 32 bits, and with one that needs them.
AdapterMatrix Wide(const AdapterMatrix& matrix, bool needs_them) {
  std::vector<float> numbers = matrix.Floats();
  if (needs_them) numbers[1] = 0.1f;
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
  return {.format = BlockFormat::kF32, .rows = matrix.rows, .columns = matrix.columns,
          .bytes = std::vector<std::byte>(bytes, bytes + numbers.size() * sizeof(float))};
}

// A file of 32 bits whose numbers are those of FP16 gives the adapter of the file of 16 bits; one that needs them keeps them.
TEST(LoadAdapter, NumbersOf32BitsStayIfNeeded) {
  const LoadedWeights model(GoldenPath("tiny/llama.gguf"));
  const AdapterFile file = Must(ReadAdapter(GoldenPath("lora/llama-qv"), model.file(), model.config()));
  const LoraAdapter halves = Must(MakeLoraAdapter(file, model.config()));
  for (const bool needs_them : {false, true}) {
    AdapterFile wide = file;
    for (AdapterPair& pair : wide.pairs) {
      pair.a = Wide(pair.a, needs_them);
      pair.b = Wide(pair.b, false);
    }
    const LoraPlan plan = PlanLoraAdapter(wide, model.config());
    const LoraAdapter adapter = Must(MakeLoraAdapter(wide, model.config()));
    EXPECT_EQ(adapter.Sum() == halves.Sum(), !needs_them);
    EXPECT_EQ(adapter.bytes(), halves.bytes() * (needs_them ? 2 : 1));
    EXPECT_EQ(WideA(adapter.Layer(0)[0], 64), wide.pairs[0].a.Floats());
    EXPECT_EQ(plan.BytesPaddedTo(plan.ranks, LoraShapesOf(model.config())), 2 * halves.bytes()) << "at most";
  }
}

// What is known before numbers are read, and what padding to another's ranks takes.
TEST(LoadAdapter, APlanMatchesTheAdapter) {
  const LoadedWeights model(GoldenPath("tiny/llama.gguf"));
  const std::vector<LoraShape> shapes = LoraShapesOf(model.config());
  std::vector<int> largest;
  for (const char* const name : {"llama-qv", "llama-qv.gguf", "llama-all", "llama-all.gguf"}) {
    const AdapterFile shapes_alone = Must(ReadAdapter(GoldenPath(std::string("lora/") + name), model.file(), model.config(),
                                                      AdapterRead::kShapes));
    EXPECT_EQ(shapes_alone.Bytes(), 0);
    const LoraPlan plan = PlanLoraAdapter(shapes_alone, model.config());
    const LoraAdapter adapter = Loaded(model, name);
    EXPECT_EQ(plan.ranks, adapter.Ranks()) << name;
    EXPECT_EQ(plan.BytesPaddedTo(plan.ranks, shapes), adapter.bytes()) << name;
    RaiseRanks(plan.ranks, largest);
  }
  LoraAdapter adapter = Loaded(model, "llama-qv");
  const LoraPlan plan = PlanLoraAdapter(Must(ReadAdapter(GoldenPath("lora/llama-qv"), model.file(), model.config(), AdapterRead::kShapes)),
                                        model.config());
  adapter.PadTo(largest, shapes);
  EXPECT_EQ(plan.BytesPaddedTo(largest, shapes), adapter.bytes());
  EXPECT_GT(adapter.bytes(), Loaded(model, "llama-qv").bytes());
}

TEST(LoadAdapter, FoldersAndGgufFilesAreOneAdapter) {
  const LoadedWeights model(GoldenPath("tiny/llama.gguf"));
  EXPECT_EQ(Loaded(model, "llama-all").Sum(), Loaded(model, "llama-all.gguf").Sum());
  EXPECT_NE(Loaded(model, "llama-all").Sum(), Loaded(model, "llama-all", 0.5f).Sum());
  EXPECT_NE(Loaded(model, "llama-all").Sum(), Loaded(model, "llama-qv").Sum());
}

// 95 % of these errors, which are in order, are below this.
double High(const std::vector<double>& errors) { return errors[errors.size() * 95 / 100]; }

struct GoldenAdapter { const char* name; const char* model; };
constexpr GoldenAdapter kGoldenAdapters[] = {{"llama-all", "llama"}, {"llama-qv", "llama"}, {"qwen3-attn", "qwen3"}};

std::vector<TokenId> TokensOf(const std::string& logits) { return ReadGoldenLogits("lora/" + logits + ".logits.jsonl")[0].tokens; }

// Without the adapter, or with it at another scale, logits are far away.
TEST(LoadAdapter, TheReferencePathIsWithinAThousandthOfTheTruth) {
  for (const auto& [name, model] : kGoldenAdapters) {
    SCOPED_TRACE(name);
    const std::string path = GoldenPath(std::string("tiny/") + model + ".gguf"), adapter_name = name;
    const LoadedWeights weights(path, WeightEncoding::kFloat32);
    Machine machine(weights, {.threads = 2});
    const LoraAdapter whole = Loaded(weights, adapter_name), half = Loaded(weights, adapter_name + ".gguf", 0.5f);
    const std::vector<TokenId> tokens = TokensOf(adapter_name);
    ASSERT_GE(tokens.size(), 96u);
    const auto truth = AdapterTruth(path, GoldenPath("lora/" + adapter_name), 1).Logits(tokens);
    const auto half_truth = AdapterTruth(path, GoldenPath("lora/" + adapter_name), 0.5).Logits(tokens);
    EXPECT_LE(FarthestFrom(truth, LogitsOf(machine, tokens, &whole)), 1e-3);
    EXPECT_LE(FarthestFrom(half_truth, LogitsOf(machine, tokens, &half)), 1e-3);
    EXPECT_LE(FarthestFrom(AdapterTruth(path, "", 1).Logits(tokens), LogitsOf(machine, tokens, nullptr)), 1e-3);
    EXPECT_GT(FarthestFrom(truth, LogitsOf(machine, tokens, nullptr)), 2e-2);
    EXPECT_GT(FarthestFrom(half_truth, LogitsOf(machine, tokens, &whole)), 2e-2);
  }
}

// Another engine rounds what an adapter multiplies to FP16, and these small models amplify it. With its rounding all logits agree.
TEST(LoadAdapter, WithItsRoundingAllLogitsOfAnotherEngineAgree) {
  for (const auto& [name, model] : kGoldenAdapters) {
    for (const float scale : {1.0f, 0.5f}) {
      const std::string logits = std::string(name) + (scale == 1 ? "" : ".half");
      SCOPED_TRACE(logits);
      const LoadedWeights weights(GoldenPath(std::string("tiny/") + model + ".gguf"), WeightEncoding::kFloat32);
      const auto make_device = [](ThreadPool& pool) { return std::make_unique<RoundingAdapters>(&pool); };
      Machine rounding(weights, {.threads = 2, .make_device = make_device}), exact(weights, {.threads = 2});
      const LoraAdapter adapter = Loaded(weights, name, scale);
      const std::vector<double> errors = Errors(rounding, logits, &adapter, /*most_rows=*/1);
      EXPECT_GE(errors.size(), 96u * 5);
      EXPECT_LE(errors.back(), scale == 1 ? 5e-3 : 6e-3);
      EXPECT_LT(errors.back(), Errors(exact, logits, &adapter).back()) << "or it would show nothing";
    }
  }
}

// How far log-probabilities are from the truth, sorted.
std::vector<double> ErrorsFrom(const AdapterTruth::Rows& truth, const std::vector<std::vector<float>>& logits) {
  std::vector<double> errors;
  for (size_t row = 0; row < truth.size(); ++row) {
    const std::vector<float> rounded(truth[row].begin(), truth[row].end());
    const double of_truth = LogSumExpOf(rounded), of_logits = LogSumExpOf(logits[row]);
    for (size_t i = 0; i < truth[row].size(); ++i) errors.push_back(std::abs(truth[row][i] - of_truth - (logits[row][i] - of_logits)));
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

// Weights are FP16 and not rounded on the fast path either; its cache has eleven bits (tests/runtime/engine/files/golden_tiny_test.cc).
TEST(LoadAdapter, TheFastPathIsOffByNoMoreThanItsCachesRounding) {
  for (const auto& [name, model] : kGoldenAdapters) {
    SCOPED_TRACE(name);
    const std::string path = GoldenPath(std::string("tiny/") + model + ".gguf");
    const LoadedWeights weights(path);
    Machine machine(weights, {.threads = 2});
    const LoraAdapter adapter = Loaded(weights, name);
    const std::vector<TokenId> tokens = TokensOf(name);
    const auto truth = AdapterTruth(path, GoldenPath(std::string("lora/") + name), 1).Logits(tokens);
    EXPECT_LE(High(ErrorsFrom(truth, LogitsOf(machine, tokens, &adapter))), 2.8e-2);
  }
}

absl::StatusOr<LoraAdapter> ReaderExample(const GgufFile* model, const ModelConfig& config, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<AdapterReader> reader, AdapterReader::Open(path, *model, config));
  ASSIGN_OR_RETURN(LoraAdapter adapter, ReadLoraAdapter(*reader, config, /*scale=*/0.5f));
  return adapter;
}

// Made while it is read, it is what it is made of a file's pairs.
TEST(LoadAdapter, AReadersPairsGiveTheSameAdapterInAnyOrder) {
  const auto model = Must(GgufFile::Open(GoldenPath("tiny/llama.gguf")));
  const ModelConfig config = Must(ReadModelConfig(*model));
  for (const char* const name : {"llama-qv", "llama-all", "llama-all.gguf"}) {
    const std::string path = GoldenPath(std::string("lora/") + name);
    const LoraAdapter read = Must(ReaderExample(model.get(), config, path));
    const LoraAdapter made = Must(MakeLoraAdapter(Must(ReadAdapter(path, *model, config)), config, 0.5f));
    EXPECT_EQ(read.Sum(), made.Sum()) << name;
    EXPECT_EQ(read.bytes(), made.bytes()) << name;
  }
  const auto reader = Must(AdapterReader::Open(GoldenPath("lora/llama-qv"), *model, config));
  EXPECT_EQ(ReadLoraAdapter(*reader, config, INFINITY).status().code(), absl::StatusCode::kInvalidArgument);
}

// Numbers that no 16 bits hold stay in the file's 32: the same as by numbers that were widened and put there.
TEST(LoadAdapter, NumbersOf32BitsAreKeptUnchanged) {
  const auto model = Must(GgufFile::Open(GoldenPath("tiny/llama.gguf")));
  const ModelConfig config = Must(ReadModelConfig(*model));
  AdapterFile file = Must(ReadAdapter(GoldenPath("lora/llama-all"), *model, config));
  LoraAdapter expected = Must(LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets));
  SeededRandom random(1);
  for (AdapterPair& pair : file.pairs) {
    for (AdapterMatrix* const matrix : {&pair.a, &pair.b}) {
      std::vector<float> numbers(static_cast<size_t>(matrix->rows * matrix->columns));
      for (float& number : numbers) number = random.Uniform(-1, 1);
      const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
      matrix->format = BlockFormat::kF32;
      matrix->bytes.assign(bytes, bytes + numbers.size() * sizeof(float));
    }
    LoraMatrices matrices = {.in = pair.a.columns, .out = pair.b.rows, .rank = pair.rank, .scale = pair.scale, .a = pair.a.Floats()};
    const std::vector<float> b = pair.b.Floats();
    for (int64_t column = 0; column < pair.b.columns; ++column) {
      for (int64_t row = 0; row < pair.b.rows; ++row) matrices.b.push_back(b[static_cast<size_t>(row * pair.b.columns + column)]);
    }
    int target = 0;
    while (LoraTargetName(static_cast<LoraTarget>(target)) != pair.matrix) ++target;
    Must(expected.Set(pair.layer, target, matrices));
  }
  const int64_t bytes = file.Bytes();
  const LoraAdapter made = Must(MakeLoraAdapter(std::move(file), config));
  EXPECT_EQ(made.Sum(), expected.Sum());
  EXPECT_EQ(made.bytes(), bytes);
}

TEST(LoadAdapter, AnAdapterThatDoesNotFitIsNamed) {
  const LoadedWeights model(GoldenPath("tiny/llama.gguf"));
  AdapterFile file = Must(ReadAdapter(GoldenPath("lora/llama-qv"), model.file(), model.config()));
  file.path = "pirate";
  EXPECT_EQ(MakeLoraAdapter(file, model.config(), INFINITY).status(),
            absl::InvalidArgumentError("pirate: scale: found inf, expected a finite number"));
  ModelConfig wider = model.config();
  wider.width *= 2;
  EXPECT_EQ(MakeLoraAdapter(file, wider).status(),
            absl::InvalidArgumentError("pirate: adapter layer 0 attn_q: found 64 inputs and 64 outputs, expected 128 and 64"));
  file.pairs[1].layer = 2;
  EXPECT_EQ(MakeLoraAdapter(file, model.config()).status(),
            absl::InvalidArgumentError("pirate: adapter layer: found 2, expected 0 to 1"));
}

class LoadAdapterModel : public testing::TestWithParam<const char*> {};

// The first tokens of the golden text: the truth takes its time.
TEST_P(LoadAdapterModel, TheReferencePathIsWithinAThousandthOfTheTruth) {
  const std::string path = RealModelPath(GetParam());
  if (path.empty()) FAIL() << RealModelMissing(GetParam());
  const std::string name = std::string(GetParam()) + "-qv";
  const LoadedWeights weights(path, WeightEncoding::kFloat32);
  Machine machine(weights, {.threads = 2});
  const LoraAdapter adapter = Loaded(weights, name);
  std::vector<TokenId> tokens = TokensOf(name);
  tokens.resize(8);
  const auto truth = AdapterTruth(path, GoldenPath("lora/" + name), 1).Logits(tokens);
  EXPECT_LE(FarthestFrom(truth, LogitsOf(machine, tokens, &adapter)), 1e-3);
  EXPECT_GT(FarthestFrom(truth, LogitsOf(machine, tokens, nullptr)), 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, LoadAdapterModel, testing::Values("smollm2"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tessera
