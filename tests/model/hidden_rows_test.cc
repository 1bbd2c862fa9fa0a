#include "tessera/model/hidden_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/pass_runner.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

using Bits = std::vector<float>;

const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111, 44};

std::string Message(const absl::Status& status, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

class HiddenRowsOfPasses : public testing::Test {
 protected:
  HiddenRowsOfPasses() : model_(TinyModelBuilder({})), machine_(model_, {}), text_(machine_, kTokens) {}

  Bits Plain(size_t tokens) { return Machine(model_, {}).Plain(absl::MakeConstSpan(kTokens).first(tokens)); }

  const LoadedWeights model_;
  Machine machine_;
  PassText text_;
};

TEST_F(HiddenRowsOfPasses, HeaderExample) {
  PassRunner* const runner = &machine_.runner();
  Bits found(2 * kTinyVocabulary);
  const TensorView<float> logits(found.data(), 2, kTinyVocabulary);
  PassText other(machine_, kTokens);
  const auto run = [&]() -> absl::Status {
    Pass pass = text_.Begin();
    ASSIGN_OR_RETURN(HiddenRows first, pass.Finish({0, 2}));              // model/pass.h
    RETURN_IF_ERROR(first.Keep());                                        // lasts beyond the runner's next pass
    const HiddenRows second = Must(other.Begin().FinishAll());
    RETURN_IF_ERROR(runner->Logits({{&first, 0}, {&second, 3}}, logits)); // logits: [2, vocabulary]
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(Bits(logits.row(0), logits.row(0) + kTinyVocabulary), Plain(1));
  EXPECT_EQ(Bits(logits.row(1), logits.row(1) + kTinyVocabulary), Plain(4));
}

TEST_F(HiddenRowsOfPasses, LastUntilTheNextPassUnlessKept) {
  HiddenRows first = Must(text_.Begin().FinishAll()), second;
  const Bits expected = text_.LogitsOf(first, 3);
  Must(first.Keep());
  second = Must(text_.Begin().Finish({3}));
  EXPECT_EQ(text_.LogitsOf(first, 3), expected);
  Must(first.Keep());
  const Pass third = text_.Begin();
  EXPECT_EQ(text_.LogitsOf(first, 3), expected) << "while a pass is under way, too";
  EXPECT_EQ(Message(second.Keep(), absl::StatusCode::kFailedPrecondition),
            "hidden rows: found a later pass, expected none since theirs, or Keep before it");
  Bits logits(kTinyVocabulary);
  const TensorView<float> view(logits.data(), 1, kTinyVocabulary);
  EXPECT_EQ(machine_.runner().Logits(second, {3}, view).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(machine_.runner().Logits(HiddenRows(), {3}, view)),
            "hidden rows: found those of no pass, expected those of a finished one");
}

// Rows of two passes read the head's units once.
TEST_F(HiddenRowsOfPasses, RowsOfSeveralPassesShareTheHead) {
  VanishingSource source(model_.Units());
  Machine machine(model_, {.source = &source});
  PassText text(machine, kTokens);
  HiddenRows first = Must(text.Begin().Finish({0, 4}));
  Must(first.Keep());
  const HiddenRows second = Must(text.Begin().Finish({5}));
  const int64_t before = source.leases();
  Bits one(kTinyVocabulary), three(3 * kTinyVocabulary);
  Must(machine.runner().Logits({{&second, 5}}, TensorView<float>(one.data(), 1, kTinyVocabulary)));
  const int64_t of_one = source.leases() - before;
  Must(machine.runner().Logits({{&first, 4}, {&second, 5}, {&first, 0}}, TensorView<float>(three.data(), 3, kTinyVocabulary)));
  EXPECT_EQ(source.leases() - before, 2 * of_one);
  Machine plain(model_, {});
  const auto row = [&](int i) { return Bits(&three[i * kTinyVocabulary], &three[i * kTinyVocabulary] + kTinyVocabulary); };
  EXPECT_EQ(row(0), plain.Plain(absl::MakeConstSpan(kTokens).first(5)));
  EXPECT_EQ(row(1), plain.Plain(kTokens));
  EXPECT_EQ(row(2), plain.Plain(absl::MakeConstSpan(kTokens).first(1)));
}

TEST(HiddenRowsOfRunners, RowsOfAnotherRunnerAreRefused) {
  const LoadedWeights model(TinyModelBuilder({})), other_model(TinyModelBuilder({.seed = 9}));
  Machine machine(model, {}), other(other_model, {});
  PassText text(machine, kTokens);
  HiddenRows done = Must(text.Begin().FinishAll());
  std::vector<float> logits(kTinyVocabulary);
  const TensorView<float> view(logits.data(), 1, kTinyVocabulary);
  EXPECT_EQ(Message(other.runner().Logits(done, {0}, view)), "hidden rows: found those of another runner, expected those of this one");
  Must(done.Keep());
  EXPECT_EQ(Message(other.runner().Logits({{&done, 0}}, view)), "hidden rows: found those of another runner, expected those of this one");
  EXPECT_EQ(Message(machine.runner().Logits({RowOf{}}, view)), "row 0 of logits: found no pass, expected one");
}

}  // namespace
}  // namespace tessera
