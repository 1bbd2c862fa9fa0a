// tessera_generate, as a person or a script runs it.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/base/timeline.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::vector<std::string> With(std::vector<std::string> arguments, const std::string& model = "llama") {
  arguments.insert(arguments.begin(), {"--model=" + TinyPath(model), "--threads=1", "--temperature=0"});
  return arguments;
}

Ended Generate(const std::vector<std::string>& arguments, const std::string& input = "") {
  return RunProgram("tessera_generate", With(arguments), input);
}

JsonValue Json(const std::string& text) {
  absl::StatusOr<JsonValue> value = JsonValue::Parse(text);
  CHECK(value.ok()) << value.status() << text;
  return *value;
}

TEST(Generate, PromptFromFlagFileAndInputGiveTheSameText) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("prompt");
  std::ofstream(path) << "the in re\n";
  const Ended flag = Generate({"--prompt=the in re", "--n_predict=12"});
  const Ended file = Generate({"--prompt_file=" + path, "--n_predict=12"});
  const Ended input = Generate({"--n_predict=12"}, "the in re\n");
  EXPECT_EQ(flag.code, 0) << flag.errors;
  EXPECT_GT(flag.output.size(), 1u);
  EXPECT_EQ(flag.output, file.output);
  EXPECT_EQ(flag.output, input.output);
}

TEST(Generate, SummaryAndNoteGoToStandardError) {
  const Ended ended = Generate({"--prompt=the", "--n_predict=5"});
  EXPECT_NE(ended.errors.find("no chat template"), std::string::npos) << ended.errors;
  for (const char* part : {"prompt ", " | 5 tok ", " tok/s", " | first ", "MiB\n"}) {
    EXPECT_NE(ended.errors.find(part), std::string::npos) << part << " in " << ended.errors;
  }
  EXPECT_EQ(Generate({"--prompt=the", "--n_predict=5", "--raw"}).errors.find("no chat template"), std::string::npos);
}

TEST(Generate, JsonHoldsTheStreamedText) {
  const Ended streamed = Generate({"--prompt=the in re", "--n_predict=9"});
  const JsonValue json = Json(Generate({"--prompt=the in re", "--n_predict=9", "--json"}).output);
  EXPECT_EQ(*json.String("text") + "\n", streamed.output);
  EXPECT_EQ(json.Ints("tokens")->size(), 9u);
  EXPECT_EQ(*json.String("finish"), "length");
  EXPECT_EQ(*json.Object("timings")->Int("output_tokens"), 9);
}

TEST(Generate, SameSeedSameText) {
  const std::vector<std::string> hot = {"--prompt=the", "--n_predict=20", "--temperature=2", "--top_k=0", "--seed=5"};
  const std::string text = Generate(hot).output;
  EXPECT_EQ(text, Generate(hot).output);
  std::vector<std::string> other = hot;
  other.back() = "--seed=6";
  EXPECT_NE(text, Generate(other).output);
}

TEST(Generate, AStopStringEndsTheTextBeforeTheString) {
  const JsonValue whole = Json(Generate({"--prompt=the in re", "--n_predict=24", "--json"}).output);
  const std::string text = *whole.String("text");
  ASSERT_GT(text.size(), 8u);
  const std::string stop = text.substr(text.size() / 2, 2);
  JsonWriter list;
  list.BeginArray().String("never to be seen").String(stop).EndArray();
  const std::string spaced = "[ \n" + list.text().substr(1);
  for (const std::string& flag : {"--stop=" + stop, "--stop=" + list.text(), "--stop=" + spaced}) {
    const JsonValue stopped = Json(Generate({"--prompt=the in re", "--n_predict=24", "--json", flag}).output);
    EXPECT_EQ(*stopped.String("text"), text.substr(0, text.find(stop)));
    EXPECT_EQ(*stopped.String("finish"), "stop string");
  }
}

TEST(Generate, RequestsAreAnsweredInOrderAndAlone) {
  const std::string a = R"({"id": "a", "tokens": [70, 71, 72], "n": 6})", b = R"({"id": 7, "text": "the in", "n": 3})";
  const Ended both = Generate({"--jsonl"}, a + "\n\n" + b + "\n");
  ASSERT_EQ(both.code, 0) << both.errors;
  EXPECT_EQ(WithoutTimes(both.output), WithoutTimes(Generate({"--jsonl"}, a).output + Generate({"--jsonl"}, b).output));
  std::istringstream lines(both.output);
  std::string line;
  std::getline(lines, line);
  const JsonValue first = Json(line);
  EXPECT_EQ(*first.String("id"), "a");
  EXPECT_EQ(*first.Ints("prompt_tokens"), (std::vector<int64_t>{70, 71, 72}));
  EXPECT_EQ(first.Ints("output_tokens")->size(), 6u);
  EXPECT_TRUE(first.String("output_text").ok());
  EXPECT_EQ(*first.String("finish"), "length");
  EXPECT_EQ(*first.Object("counts")->Int("prompt"), 3);
  EXPECT_EQ(*first.Object("counts")->Int("shared_prompt"), 0);
  EXPECT_EQ(*first.Object("counts")->Int("output"), 6);
  EXPECT_LE(*first.Object("seconds")->Double("first_token"), *first.Object("seconds")->Double("total"));
  std::getline(lines, line);
  EXPECT_EQ(*Json(line).Int("id"), 7);
  EXPECT_EQ(Json(line).Ints("output_tokens")->size(), 3u);
}

TEST(Generate, IdsComeBackUnchanged) {
  for (const std::string id : {"\"a \\n\"", "\"\"", "-7", "9223372036854775807", "18446744073709551615"}) {
    const Ended ended = Generate({"--jsonl"}, "{\"id\": " + id + ", \"tokens\": [70], \"n\": 1}");
    EXPECT_EQ(ended.output.substr(0, 7 + id.size()), "{\"id\":" + id + ",") << ended.errors;
  }
}

TEST(Generate, ABadRequestIsAnErrorOfItsOwnThatNamesLineAndField) {
  const std::string good = R"({"id": "a", "tokens": [70], "n": 1})";
  const std::pair<const char*, const char*> cases[] = {
      {R"({"id": "b", "tokens": [70, 271]})", "line 2: tokens[1]: found 271"},
      {R"({"id": "b", "tokens": [-1]})", "line 2: tokens[0]: found -1"},
      {R"({"id": "b", "tokens": []})", "line 2: found no tokens"},
      {R"({"id": "b"})", "line 2: found neither text nor tokens"},
      {R"({"id": "b", "text": 5})", "line 2: text: found 5"},
      {R"({"text": "x"})", "line 2: id"},
      {R"({"id": "b", "text": "x", "n": -4})", "line 2: n: found -4"},
      {"{\"id\"", "line 2"},
  };
  for (const auto& [line, expected] : cases) {
    for (const char* const parallel : {"--parallel=1", "--parallel=4"}) {
      const Ended ended = Generate({"--jsonl", parallel}, good + "\n" + line + "\n" + good + "\n");
      EXPECT_EQ(ended.code, 1) << line;
      EXPECT_NE(ended.errors.find("found 1 of 3 requests that could not be answered"), std::string::npos) << ended.errors;
      EXPECT_NE(ended.errors.find(expected), std::string::npos) << ended.errors << " for " << line;
      const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
      ASSERT_EQ(lines.size(), 3u) << ended.output;
      EXPECT_TRUE(Json(lines[0]).Has("output_text") && Json(lines[2]).Has("output_text")) << "good ones have their answers";
      EXPECT_NE(Json(lines[1]).String("error")->find(expected), std::string::npos) << lines[1];
      const bool has_id = absl::StrContains(line, "\"b\"");
      EXPECT_EQ(lines[1].substr(0, 10), has_id ? "{\"id\":\"b\"," : "{\"id\":null") << lines[1];
      if (!has_id) EXPECT_EQ(*Json(lines[1]).Int("line"), 2);
    }
  }
}

TEST(Generate, PromptLongerThanTheContextNamesBoth) {
  const Ended ended = Generate({"--prompt=" + std::string(600, 'x'), "--context=64"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output, "");
  EXPECT_NE(ended.errors.find("prompt: found 600 tokens, expected at most 64"), std::string::npos) << ended.errors;
}

TEST(Generate, FullContextIsSaid) {
  const Ended ended = Generate({"--prompt=the", "--context=8", "--n_predict=0"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.errors.find("context of 8 tokens is full"), std::string::npos) << ended.errors;
}

TEST(Generate, FlagsThatCannotBeAreWrongUsage) {
  const std::vector<std::string> cases[] = {
      {"--prompt=a", "--temperature=-1"}, {"--prompt=a", "--top_p=0"},       {"--prompt=a", "--n_predict=-1"},
      {"--prompt=a", "--path=slow"},      {"--prompt=a", "--kernels=best"},  {"--prompt=a", "--threads=-1"},
      {"--prompt=a", "--context=-1"},     {"--prompt=a", "--prompt_file=b"}, {"--jsonl", "--json"},
      {"--jsonl", "--prompt=a"},          {"--raw", "--chat"},               {"--prompt=a", "--chat_template=alpaca"},
      {"--jsonl", "--system=a"},          {"--jsonl", "--system="},          {"--raw", "--system=", "--prompt=a"},
      {"--jsonl", "--raw"},
      {"--prompt=a", "--stop=[\"a\", 5]"}, {"--prompt=a", "--system=b"},      {"--prompt_file=/nowhere", "--prompt=a"},
  };
  for (const std::vector<std::string>& flags : cases) {
    const Ended ended = Generate(flags);
    EXPECT_EQ(ended.code, 2) << flags.back() << ended.errors;
    EXPECT_NE(ended.errors.find("expected"), std::string::npos) << ended.errors;
    EXPECT_EQ(ended.output, "");
  }
}

TEST(Generate, TruncatedFileIsAClearError) {
  std::ifstream whole(TinyPath("llama"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  const TemporaryFolder folder;
  const std::string path = folder.Path("truncated.gguf");
  for (size_t size : {size_t{0}, size_t{3}, size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    const Ended ended = RunProgram("tessera_generate", {"--model=" + path, "--prompt=a"});
    EXPECT_EQ(ended.code, 1) << size;
    EXPECT_EQ(ended.errors.rfind("tessera_generate: " + path + ": ", 0), 0u) << ended.errors;
  }
}

TEST(Generate, DialogueKeepsItsHistory) {
  const Ended two = Generate({"--chat", "--chat_template=chatml", "--n_predict=6"}, "the\nin\n");
  const Ended reset = Generate({"--chat", "--chat_template=chatml", "--n_predict=6"}, "the\n/reset\nin\n/exit\nnever read\n");
  const Ended alone = Generate({"--chat", "--chat_template=chatml", "--n_predict=6"}, "in\n");
  ASSERT_EQ(two.code, 0) << two.errors;
  ASSERT_EQ(reset.code, 0) << reset.errors;
  EXPECT_EQ(reset.output.substr(reset.output.size() - alone.output.size()), alone.output);
  EXPECT_NE(two.output, reset.output);
  EXPECT_EQ(two.errors.find("> "), std::string::npos) << "no prompt without a terminal";
  EXPECT_NE(two.errors.find(" | first "), std::string::npos);
}

TEST(Generate, ASignalEndsTheAnswerAndTheSummaryIsStillPrinted) {
  for (int signal : {SIGINT, SIGTERM}) {
    bool summary = false;
    for (int i = 0; i < 5 && !summary; ++i) {  // It has kGraceMillis, which a busy machine may use up.
      Program program("tessera_generate", With({"--prompt=the", "--n_predict=0", "--context=400000"}));
      EXPECT_NE(program.FirstOutput(), "");
      program.Signal(signal);
      const Ended ended = program.Finish("");
      EXPECT_EQ(ended.code, 128 + signal) << ended.errors;
      summary = ended.errors.find(" tok/s | ") != std::string::npos;
    }
    EXPECT_TRUE(summary) << signal;
  }
}

TEST(Generate, AnInterruptEndsTheWaitForRequests) {
  Program program("tessera_generate", With({"--jsonl"}));
  program.Write("{\"id\": 1, \"text\": \"the\", \"n\": 2}\n");
  EXPECT_NE(program.FirstOutput(), "");
  program.Signal(SIGINT);
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + SIGINT);
}

TEST(Generate, TwoInterruptsBetweenAnswersEndADialogue) {
  Program program("tessera_generate", With({"--chat", "--chat_template=chatml", "--n_predict=2"}));
  program.Write("the\n/reset\n");
  ASSERT_TRUE(program.WaitForErrors("The dialogue is forgotten."));  // The answer is done, and the next message waited for.
  program.Signal(SIGINT);
  ASSERT_TRUE(program.WaitForErrors("Ctrl-C again or /exit ends the program."));
  EXPECT_TRUE(program.Running());
  program.Signal(SIGINT);
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + SIGINT);
}

TEST(Generate, AnInterruptEndsAnAnswerAndTheDialogueGoesOn) {
  Program program("tessera_generate", With({"--chat", "--chat_template=chatml", "--n_predict=0", "--context=400000"}));
  program.Write("the\n");
  EXPECT_NE(program.FirstOutput(), "");
  program.Signal(SIGINT);
  const Ended ended = program.Finish("/exit\n");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.errors.find(" tok/s | "), std::string::npos) << ended.errors;
}

TEST(Generate, AGoneReaderEndsTheProgramQuietly) {
  Program program("tessera_generate", With({"--raw", "--prompt=the", "--n_predict=0", "--context=400000"}));
  EXPECT_NE(program.FirstOutput(), "");
  program.CloseOutput();
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 128 + SIGPIPE);
  EXPECT_TRUE(absl::StartsWith(ended.errors, "tessera_generate: warning: context: found 400000 tokens")) << ended.errors;
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
}

TEST(Generate, TraceShowsGraphRunsAndLeases) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("trace.json");
  ASSERT_EQ(Generate({"--prompt=the", "--n_predict=3", "--trace=" + path}).code, 0);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(JsonValue::Parse(text).ok());
  EXPECT_NE(text.find(std::string(ZoneName(Zone::kGraphRun))), std::string::npos);
  EXPECT_NE(text.find(std::string(ZoneName(Zone::kLease))), std::string::npos);
  const Ended unwritable = Generate({"--prompt=the", "--n_predict=1", "--trace=/nowhere/trace.json"});
  EXPECT_EQ(unwritable.code, 2);
  EXPECT_EQ(unwritable.output, "");  // Refused before any work.
  EXPECT_NE(unwritable.errors.find("--trace: "), std::string::npos) << unwritable.errors;
}

TEST(Generate, EveryArchitectureRunsOnBothPaths) {
  for (const char* model : kTinyModels) {
    for (const char* path : {"--path=fast", "--path=reference"}) {
      const Ended ended = RunProgram("tessera_generate", With({"--prompt=the in", "--n_predict=4", path}, model));
      EXPECT_EQ(ended.code, 0) << model << path << ended.errors;
    }
  }
}

}  // namespace
}  // namespace tessera
