// --adapter with --device: texts are the same by each way, and times are those of what a phone's graphs would multiply.
#include <string>
#include <vector>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/flag_list.h"
#include "tessera/tests/fakes/programs/refused_runs.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

// One of queries and values with rank 8, one of all matrices with rank 4.
std::string Both() { return absl::StrCat("--adapter=some:", GoldenPath("lora/llama-qv"), ",all:", GoldenPath("lora/llama-all.gguf")); }

Ended Generate(const Flags& flags, const std::string& input = "") {
  const Flags all = {"--model=" + TinyPath("llama"), "--threads=1", "--context=128", "--temperature=0", Both()};
  return RunProgram("tessera_generate", all + flags, input);
}

struct Timed {
  std::string text;
  double seconds = 0;
};

Timed OnPhone(const std::string& mode, const std::string& adapter) {
  const Ended ended = Generate({"--device=8gen3:static", "--lora_mode=" + mode, "--use_adapter=" + adapter, "--raw", "--stats",
                                "--prompt=the in re", "--n_predict=64", "--speculate=none"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  Timed timed = {.text = ended.output};
  const std::string before = "phone: 8gen3, static, ";
  const size_t begin = ended.errors.find(before);
  EXPECT_NE(begin, std::string::npos) << ended.errors;
  const std::string rest = ended.errors.substr(begin + before.size());
  EXPECT_TRUE(absl::SimpleAtod(rest.substr(0, rest.find(' ')), &timed.seconds)) << rest;
  return timed;
}

TEST(PhoneAdapters, TextsAreTheSameAndTimesAreTheWays) {
  const Timed graph = OnPhone("graph", "all"), input = OnPhone("input", "all"), mask = OnPhone("mask", "all");
  EXPECT_EQ(input.text, graph.text);
  EXPECT_EQ(mask.text, graph.text);
  EXPECT_LE(graph.seconds, input.seconds) << "rank 4 at queries and values, where inputs have 8";
  EXPECT_LT(input.seconds, mask.seconds) << "all ranks, and the mask";
  EXPECT_EQ(OnPhone("graph", "all").seconds, graph.seconds) << "the same in each run";
}

TEST(PhoneAdapters, ATextWithoutOneCostsNothingByGraphsAndTheSameByInputs) {
  const Timed plain = OnPhone("graph", "none"), input = OnPhone("input", "none"), adapted = OnPhone("graph", "all");
  EXPECT_EQ(plain.text, input.text);
  EXPECT_NE(plain.text, adapted.text);
  EXPECT_LT(plain.seconds, input.seconds) << "zeros are multiplied, too";
}

// Requests in turn have the adapters that they name.
TEST(PhoneAdapters, RequestsMayNameThem) {
  std::string requests;
  for (const char* const name : {"all", "some", "all", ""}) {
    absl::StrAppend(&requests, R"({"id": 1, "text": "the in re", "n": 5, "adapter": ")", name, "\"}\n");
  }
  const Ended first = Generate({"--device=8gen3:static", "--jsonl", "--lora_mode=input"}, requests);
  ASSERT_EQ(first.code, 0) << first.errors;
  const Ended here = Generate({"--path=npu", "--recipe=qnn", "--jsonl"}, requests);   // That of static graphs.
  ASSERT_EQ(here.code, 0) << here.errors;
  EXPECT_EQ(Json(first.output.substr(0, first.output.find('\n'))).Ints("output_tokens").value(),
            Json(here.output.substr(0, here.output.find('\n'))).Ints("output_tokens").value());
}

TEST(PhoneAdapters, FlagsThatAPhoneCannotModelAreRefused) {
  const auto run = [](const Flags& flags) { return Generate(Flags{"--device=8gen3:static", "--jsonl"} + flags); };
  ExpectRefused(run, {{"--adapter_memory=1MiB", 2, "--adapter_memory: found with --device"},
                      {"--parallel=2", 2, "--parallel: found 2 with --adapter and --device, expected 1"}});
  const auto unshared = [](const Flags& flags) { return Generate(Flags{"--device=8gen2:unshared", "--jsonl"} + flags); };
  ExpectRefused(unshared, {{"--lora_mode=graph", 2, "--lora_mode: found graph with --device=8gen2:unshared, expected input or mask"}});
}

TEST(PhoneAdapters, AnotherAdapterIsTold) {
  const gflags::FlagSaver before;
  FLAGS_jsonl = true;
  FLAGS_adapter = Both().substr(std::string("--adapter=").size());
  FLAGS_lora_mode = "input";
  EngineOptions options = {.model_path = TinyPath("llama")};
  Adapters adapters = Must(AdaptersOfFlags(options));
  std::vector<int64_t> told;
  adapters.OnAnother([&](int64_t bytes) { told.push_back(bytes); });
  for (const int number : {0, 0, 1, Adapters::kNone, Adapters::kNone, 0}) Must(adapters.Lease(number).status());
  EXPECT_EQ(told, std::vector<int64_t>(3, options.workload.adapter_bytes / 2));
  const std::vector<int> inputs = adapters.GraphRanks();
  EXPECT_EQ(inputs, (std::vector<int>{8, 4, 8, 4, 4, 4, 4}));
  FLAGS_lora_mode = "mask";
  EXPECT_EQ(Must(AdaptersOfFlags(options)).GraphRanks(), (std::vector<int>{12, 4, 12, 4, 4, 4, 4}));
  FLAGS_lora_mode = "graph";
  EXPECT_TRUE(Must(AdaptersOfFlags(options)).GraphRanks().empty());
}

}  // namespace
}  // namespace tessera
