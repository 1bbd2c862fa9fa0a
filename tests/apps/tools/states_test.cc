// tessera_quantize states: what it writes against plain passes, and what it refuses.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/base/half.h"
#include "tessera/base/json.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/model/text/logit_math.h"
#include "tessera/apps/show/states_file.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr char kText[] = "the in the end of a text, the and that it is in a text of the end, and in it the text is a text";

std::unique_ptr<SafetensorsFile> Opened(const std::string& path) { return Must(SafetensorsFile::Open(path)); }

std::vector<float> Floats(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsTensor* const tensor = file.FindTensor(name);
  CHECK(tensor != nullptr) << name;
  return Must(file.ReadFloats(*tensor));
}

template <typename T>
std::vector<T> Wholes(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsTensor* const tensor = file.FindTensor(name);
  CHECK(tensor != nullptr) << name;
  CHECK_EQ(static_cast<size_t>(tensor->size), static_cast<size_t>(tensor->count) * sizeof(T)) << name;
  std::vector<T> numbers(static_cast<size_t>(tensor->count));
  Must(file.Read(*tensor, 0, absl::MakeSpan(reinterpret_cast<std::byte*>(numbers.data()), numbers.size() * sizeof(T))));
  return numbers;
}

std::vector<float> Row(const std::vector<float>& all, int64_t row, int64_t columns) {
  return {all.begin() + row * columns, all.begin() + (row + 1) * columns};
}

class StatesProgram : public ::testing::Test {
 protected:
  Ended Run(const std::string& model, std::vector<std::string> flags, const std::string& input = kText) const {
    flags.insert(flags.end(), {"--model=" + model, "--out=" + out_});
    return RunProgram("tessera_quantize states", flags, input);
  }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.Path("states.safetensors");
};

// Hidden states and logits of each text of the file, against passes that are walked one layer at a time.
void ExpectStatesOfPlainPasses(const std::string& model_path, const SafetensorsFile& file, const std::vector<int>& layers) {
  const LoadedWeights model(model_path);
  Machine machine(model, {});
  const int64_t width = model.config().width, vocabulary = model.config().vocabulary;
  const std::vector<TokenId> tokens = Wholes<TokenId>(file, "tokens");
  const std::vector<int64_t> starts = Wholes<int64_t>(file, "starts");
  const std::vector<float> logits = Floats(file, "logits"), sums = Floats(file, "logsumexp");
  for (size_t t = 0; t + 1 < starts.size(); ++t) {
    PassText text(machine, absl::MakeConstSpan(tokens).subspan(starts[t], starts[t + 1] - starts[t]));
    Pass pass = text.Begin();
    for (const int layer : layers) {
      Must(pass.RunTo(layer));
      const std::vector<float> written = Floats(file, absl::StrCat("hidden.", layer));
      const TensorView<const float> hidden = Must(pass.Hidden());
      for (int64_t r = 0; r < hidden.rows(); ++r) {
        ASSERT_EQ(Row(written, starts[t] + r, width), RowOfView(hidden, r)) << "layer " << layer << " text " << t << " row " << r;
      }
    }
    const HiddenRows done = Must(pass.FinishAll());
    for (int64_t row = starts[t]; row < starts[t + 1]; ++row) {
      const std::vector<float> expected = text.LogitsOf(done, static_cast<int>(row - starts[t]));
      ASSERT_EQ(Row(logits, row, vocabulary), expected) << "text " << t << " row " << row;
      EXPECT_FLOAT_EQ(sums[row], static_cast<float>(LogSumExp(expected)));
    }
  }
}

TEST(StatesFile, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("states.safetensors");
  StatesTexts texts;
  texts.Add({1, 72, 101}, {108});
  texts.Add({5}, {});
  StatesFile file = Must(StatesFile::Create(path, {.layers = {0, 17}, .top = 1, .width = 2, .vocabulary = 200}, texts));
  const std::vector<float> states = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (size_t which : {0, 1}) Must(file.AddHidden(which, TensorView<const float>(states.data(), 5, 2)));
  for (int row = 0; row < 5; ++row) Must(file.AddLogits({0.5f, 2.5f}, 3.0, {1}));
  Must(file.Commit());
  const auto read = Opened(path);
  EXPECT_EQ(Floats(*read, "hidden.17"), states);
  EXPECT_EQ(Floats(*read, "top_logits"), std::vector<float>(5, 2.5f));
  const StatesTexts again = Must(StatesTexts::Read(path, /*context=*/4, /*vocabulary=*/200, RequestLimits()));
  EXPECT_EQ(again.tokens(), texts.tokens());
  EXPECT_EQ(again.count(), 2);
  EXPECT_EQ(again.written(), 1);
  EXPECT_EQ(again.Text(0), (std::vector<TokenId>{1, 72, 101, 108}));
}

TEST_F(StatesProgram, StatesAndLogitsEqualPlainPasses) {
  for (const char* name : kArchitectures) {
    const std::string model = TinyPath(name);
    const int all = static_cast<int>(LoadedWeights(model).config().layers.size());
    const Ended ended = Run(model, {"--layers=last,0,1", "--logits=all", "--window=24", "--json"});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const auto file = Opened(out_);
    const JsonValue json = Json(ended.output);
    EXPECT_EQ(*json.Int("tokens"), static_cast<int64_t>(Wholes<TokenId>(*file, "tokens").size()));
    EXPECT_GT(*json.Int("texts"), 1) << "or this test shows little";
    EXPECT_EQ(*json.Int("written_tokens"), 0);
    EXPECT_EQ(*json.Ints("layers"), (std::vector<int64_t>{0, 1, all}));
    ExpectStatesOfPlainPasses(model, *file, {0, 1, all});
  }
}

TEST_F(StatesProgram, HalfNumbersAndTheLargestLogitsMatchTheWholeRows) {
  const std::string model = TinyPath("llama");
  ASSERT_EQ(Run(model, {"--logits=all", "--window=24"}).code, 0);
  const auto whole = Opened(out_);
  const std::vector<float> hidden = Floats(*whole, "hidden.2"), logits = Floats(*whole, "logits");
  ASSERT_EQ(Run(model, {"--logits=top:3", "--numbers=f16", "--window=24", "--threads=1"}).code, 0);
  const auto file = Opened(out_);
  std::vector<float> rounded = hidden;
  for (float& number : rounded) number = HalfToFloat(FloatToHalf(number));
  EXPECT_EQ(Floats(*file, "hidden.2"), rounded);
  EXPECT_EQ(file->FindTensor("logits"), nullptr);
  const std::vector<TokenId> tokens = Wholes<TokenId>(*file, "top_tokens");
  const std::vector<float> top = Floats(*file, "top_logits");
  const int64_t rows = static_cast<int64_t>(tokens.size()) / 3, vocabulary = static_cast<int64_t>(logits.size()) / rows;
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> all = Row(logits, row, vocabulary);
    const std::vector<TokenId> largest = LargestLogits(all, 3);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(tokens[row * 3 + i], largest[i]);
      EXPECT_EQ(top[row * 3 + i], all[largest[i]]);
    }
  }
  EXPECT_EQ(Floats(*file, "logsumexp"), Floats(*whole, "logsumexp"));
}

// Each written token is the likeliest after the one before it, as the file itself has it.
TEST_F(StatesProgram, TheModelGoesOnWithEachTextByItsLikeliestTokens) {
  const Ended ended = Run(TinyPath("llama"), {"--jsonl", "--generate", "--n_predict=6", "--layers=none", "--logits=top:1"},
                          "{\"id\": \"a\", \"text\": \"the\"}\n\n{\"id\": 2, \"tokens\": [5, 6, 7]}\n");
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const auto file = Opened(out_);
  const std::vector<TokenId> tokens = Wholes<TokenId>(*file, "tokens"), next = Wholes<TokenId>(*file, "top_tokens");
  const std::vector<int64_t> starts = Wholes<int64_t>(*file, "starts"), prompts = Wholes<int64_t>(*file, "prompts");
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[1], 3);
  for (size_t t = 0; t < 2; ++t) {
    EXPECT_GT(starts[t + 1], starts[t] + prompts[t]) << "something is written";
    for (int64_t row = starts[t] + prompts[t]; row < starts[t + 1]; ++row) EXPECT_EQ(tokens[row], next[row - 1]) << row;
  }
  const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(*Json(lines[1]).Int("first_row"), starts[1]);
  EXPECT_EQ(*Json(lines[1]).Int("prompt_tokens"), 3);
  EXPECT_EQ(*Json(lines[1]).Int("output_tokens"), starts[2] - starts[1] - 3);
  EXPECT_TRUE(Json(lines[0]).Has("output_text"));
}

TEST_F(StatesProgram, TextsOfAnEarlierFileHaveTheSameStates) {
  const std::string model = TinyPath("llama"), first = folder_.Path("first.safetensors");
  const std::string requests = "{\"id\": 1, \"text\": \"the\"}\n{\"id\": 2, \"text\": \"in\"}\n";
  ASSERT_EQ(Run(model, {"--jsonl", "--generate", "--n_predict=4"}, requests).code, 0);
  std::filesystem::rename(out_, first);
  const Ended ended = Run(model, {"--tokens_of=" + first, "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(Must(ReadFileToString(out_, 1 << 20)), Must(ReadFileToString(first, 1 << 20)));
  EXPECT_GT(*Json(ended.output).Int("written_tokens"), 0);
}

TEST_F(StatesProgram, BadRequestsAreAnsweredAndTheOthersWritten) {
  const Ended ended = Run(TinyPath("llama"), {"--jsonl"}, "{\"id\": 1, \"text\": \"the\"}\n{\"id\": 2, \"texts\": 1}\nx\n");
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "line 2")) << ended.errors;
  const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(Json(lines[1]).Has("error") && Json(lines[2]).Has("error")) << ended.output;
  EXPECT_EQ(Wholes<int64_t>(*Opened(out_), "prompts").size(), 1u);
  std::filesystem::remove(out_);
  EXPECT_EQ(Run(TinyPath("llama"), {"--jsonl"}, "x\n").code, 1);
  EXPECT_EQ(Run(TinyPath("llama"), {"--jsonl"}, "").code, 1) << "there is nothing to write";
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// The texts of all requests are held until the last one was read.
TEST_F(StatesProgram, TextsThatABudgetHasNoRoomForAreRefusedAndTheOthersWritten) {
  const PackedModel packed(TinyPath("llama"));
  const std::string tokens = absl::StrCat("[", absl::StrJoin(std::vector<int>(2000, 6), ","), "]");
  std::string requests;
  for (int id = 0; id < 50; ++id) absl::StrAppend(&requests, "{\"id\": ", id, ", \"tokens\": ", tokens, "}\n");
  const Ended ended = Run(packed.path(), {"--jsonl", "--layers=none", "--logits=none", "--context=2048", "--memory_budget=32MiB"},
                          requests);
  EXPECT_EQ(ended.code, 1) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "of tokens with those of earlier requests, expected at most")) << ended.output;
  const size_t kept = Wholes<int64_t>(*Opened(out_), "prompts").size();
  EXPECT_GE(kept, 40u);
  EXPECT_LT(kept, 50u);
  const std::string first = folder_.Path("first.safetensors");
  ASSERT_EQ(Run(packed.path(), {"--jsonl", "--layers=none", "--logits=none", "--context=2048"}, requests).code, 0);
  std::filesystem::rename(out_, first);
  const Ended again = Run(packed.path(), {"--tokens_of=" + first, "--layers=none", "--logits=none", "--context=2048",
                                          "--memory_budget=32MiB"});
  EXPECT_EQ(again.code, 1) << again.errors;
  EXPECT_TRUE(absl::StrContains(again.errors, "of tokens")) << again.errors;
}

TEST_F(StatesProgram, APromptThatABudgetHasNoRoomForIsRefused) {
  const PackedModel packed(TinyPath("llama"));
  const std::string text = folder_.Path("text");
  ASSERT_TRUE(WriteFileAtomically(text, std::string(6'000'000, 'a')).ok());
  for (const char* program : {"tessera_quantize states", "tessera_perplexity"}) {
    std::vector<std::string> flags = {"--model=" + packed.path(), "--prompt_file=" + text, "--window=64", "--memory_budget=64MiB"};
    if (std::string(program) == "tessera_quantize states") flags.push_back("--out=" + out_);
    const Ended ended = RunProgram(program, flags);
    EXPECT_EQ(ended.code, 2) << program << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, "--memory_budget: ")) << ended.errors;
  }
}

TEST_F(StatesProgram, WrongFlagsAreNamedAndNothingIsWritten) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"--layers: found \"8x\"", {"--layers=0,8x"}},
      {"--layers: found \"\"", {"--layers=0,"}},
      {"--layers: found 99, expected at most 2", {"--layers=99"}},
      {"--layers: found 2 twice", {"--layers=2,last"}},
      {"--logits: found \"top:0\"", {"--logits=top:0"}},
      {"--logits: found top:1000000, expected at most top:", {"--logits=top:1000000"}},
      {"--logits: found \"some\", expected none, all or top:N", {"--logits=some"}},
      {"--numbers: found \"f64\", expected f32 or f16", {"--numbers=f64"}},
      {"--window: found 1, expected 2 to", {"--window=1"}},
      {"--window: found 24, expected at most 8", {"--window=24", "--context=8"}},
      {"--window: found it with texts that stay whole", {"--window=24", "--generate"}},
      {"--n_predict: found without --generate", {"--n_predict=4"}},
      {"--tokens_of: found beside --generate", {"--tokens_of=x", "--generate"}},
      {"--tokens_of: found beside --jsonl", {"--tokens_of=x", "--jsonl"}},
      {"--jsonl: found beside --json", {"--jsonl", "--json"}}};
  for (const auto& [message, flags] : cases) {
    const Ended ended = Run(TinyPath("llama"), flags);
    EXPECT_EQ(ended.code, 2) << message << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, message)) << message << " in " << ended.errors;
    EXPECT_FALSE(std::filesystem::exists(out_)) << message;
  }
  const Ended none = RunProgram("tessera_quantize states", {TinyPath("llama")}, kText);
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(absl::StrContains(none.errors, "--out: found none, expected a file to write")) << none.errors;
}

// What a file of texts says is checked before it is believed.
TEST_F(StatesProgram, FilesOfTextsThatCannotBeAreRefused) {
  struct Texts {
    std::vector<TokenId> tokens;
    std::vector<int64_t> starts, prompts;
    const char* said;
  };
  const Texts cases[] = {{{1, 2, -1}, {0, 3}, {1}, "tensor \"tokens\": number 2: found -1"},
                         {{1, 2, 1 << 30}, {0, 3}, {1}, "tensor \"tokens\": number 2: found 1073741824"},
                         {{1, 2, 3}, {1, 3}, {1}, "tensor \"starts\": number 0: found 1, expected 0"},
                         {{1, 2, 3}, {0, 2}, {1}, "tensor \"starts\": number 1: found 2, expected 3"},
                         {{1, 2, 3}, {0, 0, 3}, {0, 1}, "tensor \"starts\": number 1: found 0"},
                         {{1, 2, 3}, {0, -9, 3}, {0, 1}, "tensor \"starts\": number 1: found -9"},
                         {{1, 2, 3}, {0, int64_t{1} << 62, 3}, {0, 1}, "tensor \"starts\": number 1: found 4611686018427387904"},
                         {{1, 2, 3}, {0, 3}, {4}, "tensor \"prompts\": number 0: found 4"},
                         {{1, 2, 3}, {0, 3}, {1, 1}, "tensor \"starts\": found 2 numbers, expected 3"}};
  const std::string path = folder_.Path("texts.safetensors");
  const auto add = [](SafetensorsWriter& writer, int tensor, const auto& numbers) {
    const std::byte* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
    Must(writer.Append(tensor, absl::MakeConstSpan(bytes, numbers.size() * sizeof(numbers[0]))));
  };
  for (const Texts& texts : cases) {
    SafetensorsWriter writer =
        Must(SafetensorsWriter::Create(path, {{"tokens", SafetensorsType::kI32, {static_cast<int64_t>(texts.tokens.size())}},
                                              {"starts", SafetensorsType::kI64, {static_cast<int64_t>(texts.starts.size())}},
                                              {"prompts", SafetensorsType::kI64, {static_cast<int64_t>(texts.prompts.size())}}}));
    add(writer, 0, texts.tokens);
    add(writer, 1, texts.starts);
    add(writer, 2, texts.prompts);
    Must(writer.Commit());
    const Ended ended = Run(TinyPath("llama"), {"--tokens_of=" + path});
    EXPECT_EQ(ended.code, 1) << texts.said << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, texts.said)) << texts.said << " in " << ended.errors;
    EXPECT_FALSE(std::filesystem::exists(out_)) << texts.said;
  }
  EXPECT_NE(Run(TinyPath("llama"), {"--tokens_of=" + TinyPath("llama")}).code, 0) << "no safetensors file";
}

TEST_F(StatesProgram, ADryRunCountsTokensAndWritesNothing) {
  const Ended ended =
      RunProgram("tessera_quantize states", {"--model=" + TinyPath("llama"), "--dry_run", "--json", absl::StrCat("--prompt=", kText)});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_GT(*Json(ended.output).Int("prompt_tokens"), 24);
}

}  // namespace
}  // namespace tessera
