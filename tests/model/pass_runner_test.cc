#include "tessera/model/pass_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/failing_source.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

using F = BlockFormat;
using Rows = std::vector<std::vector<float>>;

const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111, 44, 32, 119, 261, 114, 7, 250, 0, 33};

TEST(PassRunner, HeaderExample) {
  const LoadedWeights model(TinyModelBuilder({}));
  const ModelConfig& config = model.config();
  const WeightLayout& layout = model.layout();
  WeightSource& source = model.source();
  ThreadPool pool(2);
  HostDevice device(pool);
  const auto cache = Must(KvCache::Create({.layers = 2, .heads = 2, .head_size = 16, .slots = 64}));
  const KvCache::SequenceId sequence = cache->NewSequence();
  const std::vector<TokenId>& tokens = kTokens;
  std::vector<KvCache::Paths> paths;
  std::vector<PassRow> rows;
  std::vector<float> found(config.vocabulary);
  const TensorView<float> logits(found.data(), 1, config.vocabulary);
  const int last_row = static_cast<int>(tokens.size()) - 1;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(CompiledModel compiled, CompiledModel::Create(config, layout, {.row_capacity = 512}));
    ASSIGN_OR_RETURN(std::unique_ptr<PassRunner> runner, PassRunner::Create(config, layout, std::move(compiled), source, device, {}));
    RETURN_IF_ERROR(cache->Extend(sequence, static_cast<int>(tokens.size())));
    for (size_t i = 0; i < tokens.size(); ++i) paths.push_back(cache->PathsOf(sequence, static_cast<int>(i) + 1));
    for (size_t i = 0; i < tokens.size(); ++i) rows.push_back({tokens[i], paths[i], nullptr});
    ASSIGN_OR_RETURN(const HiddenRows done, runner->Run(rows, *cache, {last_row}));
    RETURN_IF_ERROR(runner->Logits(done, {last_row}, logits));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(found, Machine(model, {}).Plain(tokens));
}

// A row that fits, and a machine to spoil it for.
class RowsOfAPass : public testing::Test {
 protected:
  RowsOfAPass() : model_(TinyModelBuilder({})), machine_(model_, {.slots = 32, .row_capacity = 4}) {
    const KvCache::SequenceId sequence = machine_.cache().NewSequence();
    Must(machine_.cache().Extend(sequence, 1));
    paths_ = machine_.cache().PathsOf(sequence, 1);
    row_ = {.token = 5, .paths = paths_};
  }
  std::string Message(const std::vector<PassRow>& rows) {
    const absl::Status status = machine_.Run(rows);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  const LoadedWeights model_;
  Machine machine_;
  KvCache::Paths paths_;
  PassRow row_;
};

TEST_F(RowsOfAPass, TokensOutsideTheVocabularyAreNamed) {
  PassRow wrong = row_;
  wrong.token = kTinyVocabulary;
  EXPECT_EQ(Message({row_, wrong}), "row 1: token: found 265, expected 0 to 264");
  wrong.token = -1;
  EXPECT_EQ(Message({wrong}), "row 0: token: found -1, expected 0 to 264");
}

TEST_F(RowsOfAPass, ARowHasOneNonEmptyPathInEachGroup) {
  PassRow wrong = row_;
  wrong.paths = {};
  EXPECT_EQ(Message({wrong}), "row 0: paths: found 0, expected 1, one for each group of layers");
  const KvCache::Paths two = {{{0, 1}}, {{0, 1}}}, empty = {{}};
  wrong.paths = two;
  EXPECT_EQ(Message({wrong}), "row 0: paths: found 2, expected 1, one for each group of layers");
  wrong.paths = empty;
  EXPECT_EQ(Message({wrong}), "row 0: path length: found 0, expected 1 to 1073741824");
}

TEST(PassRunner, PathsOfARowAreEquallyLong) {
  const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .layers = 6, .window = 16}));
  Machine machine(model, {.slots = 64, .row_capacity = 8, .windowed_sequences = 1});
  const KvCache::Paths paths = {{{0, 3}}, {{0, 2}}};
  const absl::Status status = machine.Run({{.token = 5, .paths = paths}});
  EXPECT_EQ(status.message(), "row 0: path length: found 2, expected 3, that of its first path");
}

TEST_F(RowsOfAPass, TwoRowsMayNotStoreToOneSlot) {
  const KvCache::Paths other = {{{1, 1}}};
  EXPECT_EQ(Message({row_, {.token = 5, .paths = other}, row_}), "row 2: slot: found 0, expected another than that of row 0");
}

TEST_F(RowsOfAPass, SlotsOutsideTheCacheAreNamed) {
  const KvCache::Paths beyond = {{{0, 1}, {32, 1}}};
  EXPECT_EQ(Message({{.token = 5, .paths = beyond}}), "row 0: slots of its path: found 32 to 32, expected 0 to 31");
}

TEST_F(RowsOfAPass, MoreThanTheCapacityAreTooMany) {
  EXPECT_EQ(Message(std::vector<PassRow>(5, row_)), "rows of a pass: found 5, expected at most 4");
}

TEST_F(RowsOfAPass, NoRowsDoNothing) { Must(machine_.Run({})); }

// After a pass that failed there is nothing to take logits of, and the next pass is as if it had not been.
TEST_F(RowsOfAPass, AFailedPassLeavesNothingBehind) {
  const Rows before = machine_.Extend(machine_.cache().NewSequence(), {1, 2, 3});
  const KvCache::Paths beyond = {{{0, 1}, {32, 1}}};
  Message({{.token = 5, .paths = beyond}});
  std::vector<float> logits(kTinyVocabulary);
  const TensorView<float> view(logits.data(), 1, kTinyVocabulary);
  EXPECT_FALSE(machine_.Logits({0}, view).ok());
  EXPECT_EQ(machine_.Extend(machine_.cache().NewSequence(), {1, 2, 3}), before);
}

TEST_F(RowsOfAPass, LogitsOfUncomputedRowsAreErrors) {
  machine_.Extend(machine_.cache().NewSequence(), {1, 2, 3});
  std::vector<float> logits(2 * kTinyVocabulary);
  const TensorView<float> one(logits.data(), 1, kTinyVocabulary), narrow(logits.data(), 1, 100), two(logits.data(), 2, kTinyVocabulary);
  EXPECT_EQ(machine_.Logits({3}, one).message(), "row 3: found one that was not wanted, expected one of the 3 that were");
  EXPECT_EQ(machine_.Logits({-1}, one).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(machine_.Logits({0}, narrow).message(), "logits: found [1, 100], expected [1, 265]");
  EXPECT_EQ(machine_.Logits({0}, two).message(), "logits: found [2, 265], expected [1, 265]");
  Must(machine_.Logits({2, 0}, two));
}

// More rows than the head takes at once, some of them twice.
TEST(PassRunner, LogitsComeInTheOrderAskedFor) {
  const LoadedWeights model(TinyModelBuilder({}));
  Machine machine(model, {.threads = 2, .row_capacity = 100});
  std::vector<TokenId> tokens(100);
  for (int i = 0; i < 100; ++i) tokens[i] = i * 7 % 256;
  const Rows rows = machine.Extend(machine.cache().NewSequence(), tokens);
  std::vector<int> chosen;
  for (int i = 0; i < 150; ++i) chosen.push_back(i * 37 % 100);
  std::vector<float> logits(chosen.size() * kTinyVocabulary);
  Must(machine.Logits(chosen, TensorView<float>(logits.data(), 150, kTinyVocabulary)));
  for (size_t i = 0; i < chosen.size(); ++i) {
    const float* found = &logits[i * kTinyVocabulary];
    EXPECT_EQ(std::vector<float>(found, found + kTinyVocabulary), rows[chosen[i]]) << i;
  }
}

// However tensors are cut into units, a row's bits are the same.
TEST(PassRunner, CutsOfTensorsChangeNoBit) {
  for (const std::string architecture : kArchitectures) {
    const TinyModel tiny = {.architecture = architecture, .window = architecture == "gemma3" ? 6 : 0, .tied = true,
                            .formats = {F::kQ4_0, F::kQ8_0}};
    const LoadedWeights whole(TinyModelBuilder(tiny));
    const std::vector<float> expected = Machine(whole, {}).Plain(kTokens);
    for (const int64_t largest_unit : {1, 3000, 9000}) {
      const LoadedWeights cut(TinyModelBuilder(tiny), WeightEncoding::kPacked, largest_unit);
      EXPECT_GT(cut.layout().units(), whole.layout().units());
      Machine machine(cut, {.threads = 2});
      EXPECT_EQ(machine.Plain(kTokens), expected) << architecture << " " << largest_unit;
      EXPECT_EQ(machine.Extend(machine.cache().NewSequence(), kTokens).back(), expected) << architecture << " " << largest_unit;
    }
  }
}

// Greedy text, `count` tokens after the prompt.
std::vector<TokenId> Write(Machine& machine, int count) {
  const KvCache::SequenceId sequence = machine.cache().NewSequence();
  std::vector<float> logits = machine.Extend(sequence, kTokens).back();
  std::vector<TokenId> text;
  for (int i = 0; i < count; ++i) {
    text.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    logits = machine.Extend(sequence, {&text.back(), 1})[0];
  }
  return text;
}

// Weights may lie elsewhere at each lease and are gone when it ends: nothing may be kept from one block to the next.
TEST(PassRunner, GenerationPassesUnderLeasesThatVanish) {
  for (const int64_t largest_unit : {int64_t{3000}, kLargestUnitBytes}) {
    for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
      const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .window = 6, .tied = true}), encoding, largest_unit);
      VanishingSource source(model.Units());
      Machine resident(model, {.threads = 2}), vanishing(model, {.threads = 2, .source = &source});
      EXPECT_EQ(Write(vanishing, 20), Write(resident, 20));
      EXPECT_EQ(vanishing.Plain(kTokens), resident.Plain(kTokens));
      EXPECT_GE(source.leases(), 20 * model.layout().units());
      EXPECT_EQ(source.live(), 0);
    }
  }
}

// Before each block in turn: the error is passed on, the leases end, and the next pass is right.
TEST(PassRunner, AnErrorOfTheSourceFailsOnePassOnly) {
  const LoadedWeights model(TinyModelBuilder({.layers = 3}));
  VanishingSource vanishing(model.Units());
  FailingSource source(vanishing);
  Machine machine(model, {.source = &source});
  const std::vector<float> expected = machine.Plain(kTokens);
  for (int unit = 0; unit < source.units(); ++unit) {
    source.failing = unit;
    const KvCache::SequenceId sequence = machine.cache().NewSequence();
    Must(machine.cache().Extend(sequence, 1));
    const KvCache::Paths paths = machine.cache().PathsOf(sequence, 1);
    const std::vector<PassRow> rows = {{.token = 1, .paths = paths}};
    absl::Status status = machine.Run(rows);
    if (status.ok()) {  // The unit is the head's.
      std::vector<float> logits(kTinyVocabulary);
      status = machine.Logits({0}, TensorView<float>(logits.data(), 1, kTinyVocabulary));
    }
    EXPECT_EQ(status, absl::UnavailableError("unit cannot be read")) << unit;
    EXPECT_EQ(vanishing.live(), 0) << unit;
    machine.cache().Release(sequence);
    source.failing = -1;
    EXPECT_EQ(machine.Plain(kTokens), expected) << unit;
  }
}

// The device's format and the model's alike on FP32: the fast path is near it, however a model's matrices are stored.
TEST(PassRunner, TheFastPathIsNearTheReference) {
  for (const F format : {F::kF32, F::kF16, F::kBF16, F::kQ4_0, F::kQ4_1, F::kQ5_0, F::kQ8_0}) {
    const TinyModel tiny = {.formats = {format}, .seed = 2};
    const LoadedWeights packed(TinyModelBuilder(tiny)), wide(TinyModelBuilder(tiny), WeightEncoding::kFloat32);
    const std::vector<float> fast = Machine(packed, {}).Plain(kTokens), reference = Machine(wide, {}).Plain(kTokens);
    // Eight-bit rows are off by up to 1 / 254 of their largest number, about three times the typical one: some 0.3 % each for the
    // six products of a layer one after the other, on logits near 1. Floats are multiplied as they are.
    const bool floats = format == F::kF32 || format == F::kF16 || format == F::kBF16;
    double error = 0, size = 0;
    for (size_t i = 0; i < fast.size(); ++i) {
      error += (fast[i] - reference[i]) * (fast[i] - reference[i]);
      size += reference[i] * reference[i];
    }
    EXPECT_LT(std::sqrt(error / size), floats ? 1e-3 : 0.03) << InfoOf(format).name;
    EXPECT_GT(error, 0) << InfoOf(format).name;  // They are two computations.
  }
}

TEST_F(RowsOfAPass, WantedRowsAscendAndAreOfThePass) {
  const std::vector<PassRow> rows = {row_};
  const auto message = [&](absl::Span<const int> wanted) {
    return std::string(machine_.Run(rows, wanted).message());
  };
  EXPECT_EQ(message({1}), "wanted row 0: found 1, expected 0 to 0, in ascending order");
  EXPECT_EQ(message({-1}), "wanted row 0: found -1, expected 0 to 0, in ascending order");
  EXPECT_EQ(message({0, 0}), "wanted row 1: found 0, expected 1 to 0, in ascending order");
}

TEST_F(RowsOfAPass, LogitsOfRowsThatWereNotWantedAreErrors) {
  machine_.Extend(machine_.cache().NewSequence(), {1, 2, 3}, {0, 2}, nullptr);
  std::vector<float> logits(kTinyVocabulary);
  const TensorView<float> one(logits.data(), 1, kTinyVocabulary);
  EXPECT_EQ(machine_.Logits({1}, one).message(),
            "row 1: found one that was not wanted, expected one of the 2 that were");
  Must(machine_.Logits({2}, one));
}

// Five passes of which some rows are wanted, which goes round the ring of a sliding window: the logits of those rows are those of passes
// that want all. Gemma 3's last layer sees all positions, or, of five layers, a window.
struct WantedModel {
  const char* architecture;
  int layers;
};
class WantedRows : public testing::TestWithParam<WantedModel> {};

TEST_P(WantedRows, OtherWantedRowsChangeNoBit) {
  const auto& [architecture, layers] = GetParam();
  const int window = std::string(architecture) == "gemma3" ? 8 : 0;
  const LoadedWeights model(TinyModelBuilder({.architecture = architecture, .layers = layers, .window = window}));
  for (const uint64_t scatter : {0, 7}) {
    const auto passes = [&](absl::Span<const int> wanted) {
      Machine machine(model, {.threads = 2, .scatter_seed = scatter, .row_capacity = 16, .windowed_sequences = scatter == 0 ? 1 : 0});
      const KvCache::SequenceId sequence = machine.cache().NewSequence();
      std::vector<Rows> logits;
      for (size_t pass = 0; pass < 5; ++pass) {
        std::vector<TokenId> tokens = kTokens;
        std::rotate(tokens.begin(), tokens.begin() + pass, tokens.end());
        logits.push_back(machine.Extend(sequence, tokens, wanted, nullptr));
      }
      logits.push_back(machine.Extend(sequence, {17, 4}));
      return logits;
    };
    const std::vector<Rows> all = passes(Machine::All(static_cast<int>(kTokens.size())));
    for (const std::vector<int>& wanted : std::vector<std::vector<int>>{{}, {13}, {0}, {2, 3, 9}}) {
      const std::vector<Rows> some = passes(wanted);
      EXPECT_EQ(some[5], all[5]);
      for (size_t pass = 0; pass < 5; ++pass) {
        for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(some[pass][i], all[pass][wanted[i]]) << pass << " " << wanted[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, WantedRows,
                         testing::Values(WantedModel{"llama", 2}, WantedModel{"llama", 1}, WantedModel{"gemma3", 6},
                                         WantedModel{"gemma3", 5}, WantedModel{"qwen2", 2}, WantedModel{"qwen3", 2}),
                         [](const auto& info) { return absl::StrCat(info.param.architecture, "_", info.param.layers); });

// An error of any unit of the last layer, whichever of its two graphs needs it: no lease stays, and no row has logits.
TEST(PassRunner, AnErrorInTheLastLayerLeavesNothingBehind) {
  const LoadedWeights model(TinyModelBuilder({.layers = 2}), WeightEncoding::kPacked, /*largest_unit=*/4096);
  VanishingSource vanishing(model.Units());
  FailingSource source(vanishing);
  Machine machine(model, {.row_capacity = 4, .source = &source});
  std::set<int> units;
  for (const TensorPart& part : BuildLayerGraph(model.config(), model.layout(), 1).parts) units.insert(part.unit);
  ASSERT_GT(units.size(), 2u);
  const Rows expected = machine.Extend(machine.cache().NewSequence(), {1, 2, 3});
  std::vector<float> logits(kTinyVocabulary);
  const TensorView<float> one(logits.data(), 1, kTinyVocabulary);
  for (const int unit : units) {
    for (const std::vector<int>& wanted : std::vector<std::vector<int>>{{}, {2}, {0, 1, 2}}) {
      const KvCache::SequenceId sequence = machine.cache().NewSequence();
      Must(machine.cache().Extend(sequence, 3));
      std::vector<KvCache::Paths> paths;
      for (int i = 0; i < 3; ++i) paths.push_back(machine.cache().PathsOf(sequence, i + 1));
      const std::vector<PassRow> rows = {{1, paths[0], nullptr}, {2, paths[1], nullptr}, {3, paths[2], nullptr}};
      source.failing = unit;
      EXPECT_EQ(machine.Run(rows, wanted), absl::UnavailableError("unit cannot be read")) << unit;
      source.failing = -1;
      EXPECT_EQ(vanishing.live(), 0) << unit;
      EXPECT_EQ(machine.Logits({2}, one).code(), absl::StatusCode::kInvalidArgument);
      Must(machine.Run(rows, {2}));
      EXPECT_EQ(machine.LogitsOf({2})[0], expected[2]) << unit;
      machine.cache().Release(sequence);
    }
  }
}

}  // namespace
}  // namespace tessera
