// tessera_tokenize, tessera_logits, tessera_perplexity, tessera_inspect and tessera_bench on the tiny models.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended RunTiny(const std::string& program, std::vector<std::string> arguments, const std::string& input = "",
              const std::string& model = "llama") {
  arguments.insert(arguments.begin(), "--model=" + TinyPath(model));
  return RunProgram(program, arguments, input);
}

// The largest difference of a log-probability from the golden ones.
double WorstDifference(const JsonValue& golden, const JsonValue& found) {
  double worst = 0;
  for (int64_t i = 0; i < golden.Array("positions")->size(); ++i) {
    const JsonValue truth = (*golden.Array("positions"))[i], ours = (*found.Array("positions"))[i];
    std::map<int64_t, double> logits;
    for (int64_t t = 0; t < ours.Array("top")->size(); ++t) {
      const JsonValue pair = (*ours.Array("top"))[t];
      logits[*pair[0].AsInt()] = *pair[1].AsDouble();
    }
    for (int64_t t = 0; t < truth.Array("top")->size(); ++t) {
      const JsonValue pair = (*truth.Array("top"))[t];
      const double expected = *pair[1].AsDouble() - *truth.Double("logsumexp");
      worst = std::max(worst, std::fabs(expected - (logits.at(*pair[0].AsInt()) - *ours.Double("logsumexp"))));
    }
  }
  return worst;
}

TEST(Logits, ReferencePathAgreesWithAnotherEngineOnEveryTinyModel) {
  for (const char* model : kTinyModels) {
    std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/" + model + ".logits.jsonl");
    std::string line;
    std::getline(file, line);
    const JsonValue golden = Json(line);
    JsonWriter request;
    request.BeginObject().Key("id").String("x").Key("tokens").BeginArray();
    const std::vector<int64_t> tokens = *golden.Ints("tokens");
    for (int64_t token : tokens) request.Int(token);
    request.EndArray().EndObject();
    const Ended ended = RunTiny("tessera_logits", {"--jsonl", "--top=300", "--path=reference"}, request.text() + "\n", model);
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_LT(WorstDifference(golden, Json(ended.output)), 1e-2) << model;
  }
}

TEST(Logits, TopIsSortedAndBounded) {
  const JsonValue answer = Json(RunTiny("tessera_logits", {"--jsonl", "--top=5"}, R"({"id": 3, "text": "the in"})").output);
  EXPECT_EQ(*answer.Int("id"), 3);
  EXPECT_EQ(answer.Array("positions")->size(), static_cast<int64_t>(answer.Ints("tokens")->size()));
  const JsonValue top = *(*answer.Array("positions"))[0].Array("top");
  ASSERT_EQ(top.size(), 5);
  for (int64_t i = 1; i < 5; ++i) EXPECT_GE(*top[i - 1][1].AsDouble(), *top[i][1].AsDouble());
  EXPECT_EQ(RunTiny("tessera_logits", {"--jsonl", "--top=0"}).code, 2);
}

TEST(Logits, TextLongerThanTheContextIsAnErrorOfItsLine) {
  const Ended ended = RunTiny("tessera_logits", {"--jsonl", "--context=16"}, "{\"id\": 1, \"text\": \"" + std::string(40, 'x') + "\"}");
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.errors.find("line 1: prompt: found 40 tokens, expected at most 16"), std::string::npos) << ended.errors;
}

// The prompt holds a line break, an escape character and a part of a character: each token of it is shown in one line.
TEST(Logits, EveryRowOfTheTableIsOneLine) {
  const std::string prompt = "--prompt=a\n\x1b[2J\xc2\x9b";
  for (const std::string program : {"tessera_logits", "tessera_tokenize"}) {
    std::vector<std::string> flags = {prompt};
    if (program == "tessera_logits") flags.push_back("--top=300");
    const Ended ended = RunTiny(program, flags);
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n');
    for (const std::string& line : lines) EXPECT_TRUE(IsPrintableUtf8(line)) << program << ": " << line;
    EXPECT_TRUE(absl::StrContains(ended.output, "\"\\n\"")) << program << ": " << ended.output;
    const JsonValue json = Json(RunTiny("tessera_tokenize", {prompt, "--json"}).output);
    if (program == "tessera_logits") continue;
    EXPECT_EQ(lines.size(), 2 + json.Ints("tokens")->size() + 1) << "a header, a rule, a line for each token, and an end";
  }
}

TEST(Tokenize, SpecialTokensOnlyWhereAsked) {
  const Ended ended = RunTiny("tessera_tokenize", {"--jsonl"},
                          R"({"id": "a", "text": "x<|im_end|>", "special": true})" "\n" R"({"id": "b", "text": "x<|im_end|>"})");
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const size_t end = ended.output.find('\n');
  const std::vector<int64_t> special = *Json(ended.output.substr(0, end)).Ints("tokens");
  EXPECT_EQ(special.size(), 2u);
  EXPECT_EQ(special.back(), 2);
  EXPECT_GT(Json(ended.output.substr(end + 1)).Ints("tokens")->size(), 2u);
}

TEST(Tokenize, TableAndJsonShowTheSameTokens) {
  const JsonValue json = Json(RunTiny("tessera_tokenize", {"--json", "--prompt=the in"}).output);
  const std::string table = RunTiny("tessera_tokenize", {"--prompt=the in"}).output;
  const std::vector<std::string> pieces = *json.Strings("pieces");
  const std::vector<int64_t> tokens = *json.Ints("tokens");
  EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::string()), "the in");
  for (int64_t token : tokens) EXPECT_NE(table.find(absl::StrCat(token)), std::string::npos);
}

// Minus the log-probabilities of tokens 1.. of a window, from tessera_logits.
double SumFromLogits(const std::vector<int64_t>& tokens, size_t begin, size_t size) {
  JsonWriter request;
  request.BeginObject().Key("id").Int(0).Key("tokens").BeginArray();
  for (size_t i = begin; i < begin + size; ++i) request.Int(tokens[i]);
  request.EndArray().EndObject();
  const JsonValue answer = Json(RunTiny("tessera_logits", {"--jsonl", "--top=271"}, request.text()).output);
  double sum = 0;
  for (size_t i = 0; i + 1 < size; ++i) {
    const JsonValue position = (*answer.Array("positions"))[i];
    for (int64_t t = 0; t < position.Array("top")->size(); ++t) {
      const JsonValue pair = (*position.Array("top"))[t];
      if (*pair[0].AsInt() == tokens[begin + i + 1]) sum += *position.Double("logsumexp") - *pair[1].AsDouble();
    }
  }
  return sum;
}

TEST(Perplexity, IsTheSumOverWholeWindowsFromEmptyCaches) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += static_cast<char>('a' + i * 7 % 26);
  const std::vector<int64_t> tokens = *Json(RunTiny("tessera_tokenize", {"--json", "--prompt=" + text}).output).Ints("tokens");
  ASSERT_GE(tokens.size(), 48u);
  const std::string request = "{\"id\": \"a\", \"text\": \"" + text + "\"}\n";
  const JsonValue answer = Json(RunTiny("tessera_perplexity", {"--jsonl", "--window=16", "--max_windows=3"}, request).output);
  const double expected = SumFromLogits(tokens, 0, 16) + SumFromLogits(tokens, 16, 16) + SumFromLogits(tokens, 32, 16);
  EXPECT_EQ(*answer.String("id"), "a");
  EXPECT_EQ(*answer.Int("scored"), 45);
  EXPECT_NEAR(*answer.Double("nll_sum"), expected, 1e-4);
  EXPECT_NEAR(*answer.Double("perplexity"), std::exp(expected / 45), 1e-4);
  EXPECT_NE(RunTiny("tessera_perplexity", {"--window=16"}, text).output.find("perplexity "), std::string::npos);
}

TEST(Perplexity, TextWithoutAWholeWindowIsAnError) {
  const Ended ended = RunTiny("tessera_perplexity", {"--prompt=abc"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.errors.find("found 3 tokens, expected at least 512"), std::string::npos) << ended.errors;
  EXPECT_EQ(RunTiny("tessera_perplexity", {"--prompt=abc", "--window=1"}).code, 2);
  EXPECT_EQ(RunTiny("tessera_perplexity", {"--prompt=abc", "--context=100"}).code, 2);
}

TEST(Inspect, ShowsEveryTensorAndKey) {
  const Ended text = RunTiny("tessera_inspect", {});
  const JsonValue json = Json(RunTiny("tessera_inspect", {"--json"}).output);
  ASSERT_EQ(text.code, 0) << text.errors;
  EXPECT_EQ(json.Array("tensors")->size(), 21);
  for (int64_t i = 0; i < json.Array("tensors")->size(); ++i) {
    EXPECT_NE(text.output.find(*(*json.Array("tensors"))[i].String("name")), std::string::npos);
  }
  for (int64_t i = 0; i < json.Array("metadata")->size(); ++i) {
    EXPECT_NE(text.output.find(*(*json.Array("metadata"))[i].String("key")), std::string::npos);
  }
}

TEST(Inspect, LongTextsAreWholeInJsonAndEndAtACharacterInTheTable) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("long.gguf"), text = std::string(71, 'x') + "\u00e9" + std::string(50, 'y');
  GgufBuilder().String("long", text).WriteTo(path);
  const JsonValue json = Json(RunProgram("tessera_inspect", {"--json", "--model=" + path}).output);
  EXPECT_EQ(*(*json.Array("metadata"))[0].String("value"), text);
  const std::string table = RunProgram("tessera_inspect", {"--model=" + path}).output;
  EXPECT_NE(table.find("\"" + std::string(71, 'x') + "... (123 bytes)\""), std::string::npos) << table;
}

TEST(Inspect, GraphShowsEachDistinctBlockOnce) {
  const Ended ended = RunTiny("tessera_inspect", {"--graph", "--json"}, "", "gemma3");
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue graphs = *Json(ended.output).Array("graphs");
  int layers = 0, graphs_of_layers = 0, of_unwanted_rows = 0;
  for (int64_t i = 0; i < graphs.size(); ++i) {
    const JsonValue uses = *graphs[i].Array("uses");
    of_unwanted_rows += *uses[0].String("name") == "keys and values of layer 6";
    if (uses[0].String("name")->rfind("layer ", 0) != 0) continue;
    layers += static_cast<int>(uses.size());
    ++graphs_of_layers;
    EXPECT_GT(*graphs[i].Int("arena_bytes"), 0);
    EXPECT_GT(graphs[i].Array("operators")->size(), 10);
    EXPECT_EQ(*graphs[i].Int("adapter_placeholders"), 7);
  }
  EXPECT_EQ(layers, 7);
  EXPECT_EQ(graphs_of_layers, 2) << "layers with a window, and the global one";
  EXPECT_EQ(of_unwanted_rows, 1);
  const std::string text = RunTiny("tessera_inspect", {"--graph"}, "", "gemma3").output;
  for (const char* part : {"RmsNorm", "Attention", "window=16", "attn_q.weight", "the caller's"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(Bench, ReportsSpreadAsJson) {
  const Ended ended = RunTiny(
      "tessera_bench speed", {"--json", "--prompt_tokens=16", "--generate_tokens=8", "--repetitions=3", "--depth=4", "--threads=2"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue report = Json(ended.output);
  EXPECT_EQ(*report.Int("threads"), std::min(2, AvailableCpus()));
  for (const char* part : {"prompt", "generation"}) {
    const JsonValue spread = *report.Object(part)->Object("tokens_per_second");
    EXPECT_GT(*spread.Double("min"), 0);
    EXPECT_LE(*spread.Double("min"), *spread.Double("median"));
    EXPECT_LE(*spread.Double("median"), *spread.Double("max"));
  }
  EXPECT_FALSE(Json(RunTiny("tessera_bench speed", {"--json", "--prompt_tokens=0", "--generate_tokens=2", "--repetitions=1"}).output)
                   .Has("prompt"));
}

TEST(Bench, OverheadAddsUp) {
  for (const char* threads : {"--threads=1", "--threads=2"}) {
    const Ended ended = RunTiny("tessera_bench overhead", {"--json", "--generate_tokens=9", "--repetitions=3", threads});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const JsonValue overhead = *Json(ended.output).Object("overhead");
    EXPECT_GT(*overhead.Double("graphs_us"), 0);
    EXPECT_GT(*overhead.Double("total_us"), *overhead.Double("graphs_us"));
    EXPECT_GT(*overhead.Double("outside_share"), 0);
    EXPECT_LT(*overhead.Double("outside_share"), 1);
    EXPECT_GT(*overhead.Double("working_us"), 0);
    EXPECT_GE(*overhead.Double("waiting_us"), 0);
    EXPECT_GT(*overhead.Double("total_counted_us"), *overhead.Double("working_us"));
    const double working_share = *overhead.Double("working_us") / *overhead.Double("total_counted_us");
    EXPECT_NEAR(*overhead.Double("not_working_share"), 1 - working_share, 1e-4);
  }
}

TEST(Bench, OverheadTakesATokenOfEachKind) {
  EXPECT_EQ(RunTiny("tessera_bench overhead", {"--generate_tokens=2"}).code, 2);
  EXPECT_EQ(RunTiny("tessera_bench overhead", {"--generate_tokens=3", "--repetitions=1"}).code, 0);
}

TEST(Bench, DepthBeyondTheContextIsAnError) {
  const Ended ended = RunTiny("tessera_bench speed", {"--depth=500", "--context=100"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.errors.find("context: found"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace tessera
