#include "tessera/apps/cli/adapters/adapter_flags.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// Adapters of the tiny llama: of queries and values, and of all matrices.
std::string Some(const std::string& name) { return absl::StrCat(name, ":", GoldenPath("lora/llama-qv")); }
std::string All(const std::string& name) { return absl::StrCat(name, ":", GoldenPath("lora/llama-all.gguf")); }

class AdapterFlags : public testing::Test {
 protected:
  static std::string Refused() {
    EngineOptions options = {.model_path = TinyPath("llama")};
    const absl::Status status = AdaptersOfFlags(options).status();
    EXPECT_NE(FieldOf(status), "") << status;
    return std::string(status.message());
  }

 private:
  const gflags::FlagSaver flags_before_;
};

TEST_F(AdapterFlags, HeaderExample) {
  FLAGS_adapter = Some("pirate");
  EngineOptions options = {.model_path = TinyPath("llama")};
  const auto run = [&]() -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Adapters adapters, AdaptersOfFlags(options));
    ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
    return adapter->bytes();
  };
  EXPECT_EQ(Must(run()), options.workload.adapter_bytes);
}

TEST_F(AdapterFlags, ErrorsNameFlags) {
  FLAGS_adapter_folder = GoldenPath("lora");
  EXPECT_EQ(Refused(), "adapter_folder: found without --jsonl, expected it, or --use_adapter=NAME");
  FLAGS_jsonl = true;
  EXPECT_EQ(Refused(), "adapter_folder: found without --adapter_memory, expected both: requests name as many as they like");
  FLAGS_adapter_memory = "1MiB";
  FLAGS_adapter_folder = "";
  EXPECT_EQ(Refused(), "adapter_memory: found without --adapter, expected both");
  FLAGS_adapter_folder = GoldenPath("lora");
  for (const char* const way : {"input", "mask"}) {
    FLAGS_lora_mode = way;
    EXPECT_EQ(Refused(), absl::StrCat("adapter_folder: found with --lora_mode=", way,
                                      ", expected graph: ranks that requests bring are not known before"));
  }
  FLAGS_lora_mode = "both";
  EXPECT_EQ(Refused(), "lora_mode: found \"both\", expected input, mask or graph");
  FLAGS_lora_mode = "graph";
  FLAGS_adapter_folder = "";
  FLAGS_adapter = Some("a");
  FLAGS_device = "8gen3:static";
  EXPECT_EQ(Refused(), "adapter_memory: found with --device, expected one of them: a phone's time does not count adapters that are read");
  FLAGS_adapter_memory = "many";
  EXPECT_TRUE(absl::StartsWith(Refused(), "adapter_memory: "));
  FLAGS_adapter_memory = "";
  FLAGS_parallel = 4;
  EXPECT_EQ(Refused(), "parallel: found 4 with --adapter and --device, expected 1: a phone's graph has one adapter at a time");
  FLAGS_device = "";
  FLAGS_jsonl = false;
  FLAGS_adapter = absl::StrCat(Some("a"), ",", All("b"));
  EXPECT_EQ(Refused(), "adapter: found 2 of them without --jsonl, expected one, or --use_adapter=NAME");
}

std::vector<std::string> With(const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--model=" + TinyPath("llama"), "--threads=1"};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

TEST(AdapterPrograms, WrongFlagsAndFilesAreRefused) {
  const auto refused = [](const char* program, std::vector<std::string> flags, int code, const std::string& says) {
    const Ended ended = RunProgram(program, With(flags), "the");
    EXPECT_EQ(ended.code, code) << says << ": " << ended.errors;
    EXPECT_EQ(ended.output, "");
    EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors;
  };
  for (const char* const program : {"tessera_generate", "tessera_logits", "tessera_perplexity"}) {
    refused(program, {"--adapter="}, 2, "--adapter: found an empty value");
    refused(program, {"--adapter=x"}, 2, "--adapter: found \"x\", expected NAME:PATH");
    refused(program, {"--use_adapter=a"}, 2, "--use_adapter: found without --adapter, expected both");
    refused(program, {"--adapter=" + Some("a"), "--lora_mode=masks"}, 2, "--lora_mode: found \"masks\", expected input, mask or graph");
    refused(program, {"--adapter=" + Some("a"), "--adapter_memory=1KiB"}, 2, "--adapter_memory: found 1.00 KiB, expected at least ");
    refused(program, {absl::StrCat("--adapter=", Some("a"), ",", All("b"))}, 2, "--adapter: found 2 of them without --jsonl");
    refused(program, {"--adapter=a:/nowhere/adapter"}, 1, "/nowhere/adapter: cannot open");
    refused(program, {"--adapter=a:" + TinyPath("llama")}, 1, "general.type");
    refused(program, {"--adapter=a:" + GoldenPath("lora/smollm2-qv")}, 1, GoldenPath("lora/smollm2-qv"));
  }
  refused("tessera_bench spec", {absl::StrCat("--adapter=", Some("a"), ",", All("b"))}, 2, "--adapter: found 2 of them without --jsonl");
  refused("tessera_perplexity", {"--adapter=" + Some("a"), "--table=attention"}, 2, "--adapter: found it with --table");
}

// The answers but for what depends on the company.
std::vector<std::string> Answers(const std::string& output) {
  std::vector<std::string> lines = absl::StrSplit(WithoutTimes(output), '\n', absl::SkipEmpty());
  for (std::string& line : lines) {
    const JsonValue answer = Json(line);
    line = answer.Has("error") ? *answer.String("error") : absl::StrJoin(*answer.Ints("output_tokens"), " ");
  }
  return lines;
}

std::string Asked(const std::string& more) {
  return absl::StrCat(R"({"id": 1, "text": "the in re the in it", "n": 24, "temperature": 0)", more, "}\n");
}

// Each as it is alone, in a run that knows no other adapter.
TEST(AdapterPrograms, ARequestNamesItsAdapter) {
  const auto alone = [](const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"--jsonl", "--context=128"};
    all.insert(all.end(), flags.begin(), flags.end());
    const Ended ended = RunProgram("tessera_generate", With(all), Asked(""));
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return Answers(ended.output).at(0);
  };
  const std::string plain = alone({}), some = alone({"--adapter=" + Some("a")}), all = alone({"--adapter=" + All("a")}),
                    half = alone({"--adapter=" + All("a") + ":0.5"});
  EXPECT_EQ(std::set<std::string>({plain, some, all, half}).size(), 4u) << "or nothing here would show much";
  std::string requests;
  for (const char* const more : {R"(, "adapter": "all")", R"(, "adapter": "some")", "", R"(, "adapter": "half")", R"(, "adapter": "soem")",
                                 R"(, "adapter": "")", R"(, "adapter": "all")", R"(, "adapter": null)"}) {
    requests += Asked(more);
  }
  const std::vector<std::string> flags = {absl::StrCat("--adapter=", Some("some"), ",", All("all"), ",", All("half"), ":0.5"), "--jsonl",
                                          "--context=128"};
  for (const char* const parallel : {"--parallel=1", "--parallel=3", "--parallel=8"}) {
    for (const char* const speculate : {"--speculate=none", "--speculate=auto"}) {
      for (const bool uses_some : {false, true}) {
        std::vector<std::string> more = flags;
        more.insert(more.end(), {parallel, speculate});
        if (uses_some) more.push_back("--use_adapter=some");
        const Ended ended = RunProgram("tessera_generate", With(more), requests);
        EXPECT_EQ(ended.code, 1) << "one is bad: " << ended.errors;
        const std::vector<std::string> expected = {
            all, some, uses_some ? some : plain, half,
            "standard input, line 5: adapter: found \"soem\", expected one of some, all, half, or null for none; did you mean \"some\"?",
            plain, all, plain};
        EXPECT_EQ(Answers(ended.output), expected) << parallel << " " << speculate << " " << uses_some;
      }
    }
  }
}

TEST(AdapterPrograms, PromptsDialoguesAndSeveralAnswersUseTheAdapter) {
  const std::vector<std::string> flags = {"--adapter=" + All("a"), "--n_predict=12"};
  const auto text = [&](std::vector<std::string> more, const std::string& input, bool adapted = true) {
    if (adapted) more.insert(more.end(), flags.begin(), flags.end());
    else more.push_back("--n_predict=12");
    const Ended ended = RunProgram("tessera_generate", With(more), input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended.output;
  };
  const std::vector<std::string> raw = {"--raw", "--prompt=the in", "--temperature=0"};
  EXPECT_NE(text(raw, ""), text(raw, "", /*adapted=*/false));
  const std::vector<std::string> chat = {"--chat", "--chat_template=chatml", "--temperature=0"},
                                 once = {"--prompt=the in", "--chat_template=chatml", "--temperature=0"};
  EXPECT_EQ(text(chat, "the in\n"), text(once, ""));
  EXPECT_NE(text(chat, "the in\n"), text(chat, "the in\n", /*adapted=*/false));
  const JsonValue together = Json(text({"--raw", "--prompt=the in", "--answers=2", "--json"}, ""));
  EXPECT_EQ(*(*together.Array("answers"))[0].String("text"), *Json(text({"--raw", "--prompt=the in", "--json"}, "")).String("text"));
  std::vector<std::string> unused = raw;
  unused.insert(unused.end(), {"--adapter=" + All("a"), "--use_adapter=none"});
  EXPECT_EQ(text(unused, "", /*adapted=*/false), text(raw, "", /*adapted=*/false));
}

TEST(AdapterPrograms, ASessionGoesOnWithItsAdapterAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("kept");
  const auto run = [&](const std::vector<std::string>& more, const std::string& prompt, int tokens) {
    std::vector<std::string> flags = {"--raw", "--temperature=0", "--prompt=" + prompt, absl::StrCat("--n_predict=", tokens)};
    flags.insert(flags.end(), more.begin(), more.end());
    return RunProgram("tessera_generate", With(flags));
  };
  const std::string kept = "--session=" + path, adapter = "--adapter=" + All("a");
  const std::string whole = run({adapter}, "the in re", 20).output;
  std::string halves = run({adapter, kept}, "the in re", 10).output;
  const std::vector<std::vector<std::string>> others = {{kept}, {kept, adapter + ":0.5"}, {kept, "--adapter=" + Some("a")}};
  for (const std::vector<std::string>& other : others) {
    const Ended refused = run(other, "", 10);
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(absl::StrContains(refused.errors, path + ": adapter: found ")) << refused.errors;
  }
  halves.pop_back();
  EXPECT_EQ(halves + run({adapter, kept}, "", 10).output, whole);
}

TEST(AdapterPrograms, PerplexityAndComparedTextsUseTheAdapter) {
  const std::string input = "the in re the in it the in re the in it the in re the in it the in re the in it the in re";
  const auto perplexity = [&](const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--window=16", "--json"};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = RunProgram("tessera_perplexity", With(flags), input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return *Json(ended.output).Double("perplexity");
  };
  const double plain = perplexity({}), adapted = perplexity({"--adapter=" + All("a")});
  EXPECT_NE(adapted, plain);
  std::string requests;
  for (const char* const more : {R"(, "adapter": "a")", "", R"(, "adapter": "a")"}) {
    absl::StrAppend(&requests, R"({"id": 1, "text": ")", input, "\"", more, "}\n");
  }
  const std::vector<std::string> flags = With({"--window=16", "--jsonl", "--adapter=" + All("a"), "--use_adapter=none"});
  const Ended ended = RunProgram("tessera_perplexity", flags, requests);
  const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u) << ended.errors;
  EXPECT_EQ(*Json(lines[0]).Double("perplexity"), adapted);
  EXPECT_EQ(*Json(lines[1]).Double("perplexity"), plain);
  EXPECT_EQ(*Json(lines[2]).Double("perplexity"), adapted);
  const std::vector<std::string> compared = With({"--prompts=-", "--n_predict=12", "--adapter=" + All("a"), "--temperature=0"});
  EXPECT_EQ(RunProgram("tessera_verify", compared, "the in\n").code, 0);
}

// 200 adapters, so that they are more than what differs between two runs.
TEST(AdapterPrograms, ABudgetAndADryRunCountThem) {
  const PackedModel packed(TinyPath("llama"));
  std::vector<std::string> list;
  for (int i = 0; i < 200; ++i) list.push_back(All(absl::StrCat("a", i)));
  const auto plan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--model=" + packed.path(), "--dry_run", "--json", "--context=128", "--flash=ufs4.0",
                                      "--memory_budget=1GiB"};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = RunProgram("tessera_generate", flags);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return Json(ended.output);
  };
  const JsonValue without = plan({}), with = plan({"--adapter=" + absl::StrJoin(list, ","), "--use_adapter=a7"});
  constexpr int64_t kNumbers = 2 * 4 * (128 + 96 + 96 + 128 + 160 + 160 + 160);   // Layers, rank, and inputs and outputs of seven matrices.
  EXPECT_EQ(*with.Object("memory_bytes")->Int("adapters"), 200 * kNumbers * 2);
  EXPECT_EQ(*without.Object("memory_bytes")->Int("adapters"), 0);
  const auto least = [](const JsonValue& json) { return *json.Object("memory_budget")->Int("least"); };
  EXPECT_GE(least(with) - least(without), int64_t{2} << 20);
  const Ended shown = RunProgram("tessera_generate", With({"--dry_run", "--adapter=" + All("a")}));
  EXPECT_TRUE(absl::StrContains(shown.output, "\nadapters ")) << shown.output;
}

// How far the log-probabilities of another engine's likeliest tokens are off at most.
double LargestError(const std::string& model, const std::string& adapter, const std::string& logits) {
  double largest = 0;
  for (const GoldenLogits& golden : ReadGoldenLogits(absl::StrCat("lora/", logits, ".logits.jsonl"))) {
    const std::string request = absl::StrCat(R"({"id": 1, "tokens": [)", absl::StrJoin(golden.tokens, ","), "]}\n");
    const Ended ended = RunProgram("tessera_logits", {"--model=" + model, "--threads=2", "--path=reference", "--jsonl", "--top=1000",
                                                      "--context=128", "--adapter=a:" + adapter}, request);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    const JsonValue positions = Must(Json(ended.output).Array("positions"));
    EXPECT_EQ(positions.size(), static_cast<int64_t>(golden.positions.size()));
    for (int64_t i = 0; i < positions.size(); ++i) {
      const GoldenPosition found = ReadGoldenPosition(positions[i]);
      const std::map<TokenId, double> ours(found.top.begin(), found.top.end());
      const GoldenPosition& expected = golden.positions[static_cast<size_t>(i)];
      for (const auto& [token, logit] : expected.top) {
        const auto our = ours.find(token);
        const double error = our == ours.end() ? 1e9 : std::abs((our->second - found.logsumexp) - (logit - expected.logsumexp));
        largest = std::max(largest, error);
      }
    }
  }
  return largest;
}

// tests/golden/README.md says why not closer.
constexpr double kOtherEngine = 5e-2;   // It rounds what an adapter multiplies to FP16 (tests/model/load_adapter_test.cc has 95 %).

TEST(AdapterPrograms, LogitsAgreeWithAnotherEngine) {
  const std::string llama = TinyPath("llama"), folder = GoldenPath("lora/llama-all"), file = folder + ".gguf";
  EXPECT_LE(LargestError(llama, folder, "llama-all"), kOtherEngine);
  EXPECT_LE(LargestError(llama, file + ":0.5", "llama-all.half"), kOtherEngine);
  EXPECT_LE(LargestError(TinyPath("qwen3"), GoldenPath("lora/qwen3-attn"), "qwen3-attn"), kOtherEngine);
  EXPECT_GT(LargestError(llama, file + ":0.5", "llama-all"), 0.1) << "or it would show nothing";
}

class AdapterProgramsModel : public testing::TestWithParam<const char*> {};

TEST_P(AdapterProgramsModel, LogitsAgreeWithAnotherEngine) {
  const std::string path = RealModelPath(GetParam());
  if (path.empty()) FAIL() << RealModelMissing(GetParam());
  const std::string name = absl::StrCat(GetParam(), "-qv");
  EXPECT_LE(LargestError(path, GoldenPath("lora/" + name), name), kOtherEngine);
  EXPECT_GT(LargestError(path, GoldenPath("lora/" + name) + ":0", name), 0.1) << "or it would show nothing";
}

INSTANTIATE_TEST_SUITE_P(Models, AdapterProgramsModel, testing::Values("smollm2"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tessera
