// --lora_mode and --adapter_memory: how adapters lie in memory, and which of them are there.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

// Adapters of the tiny llama: of queries and values with rank 8, and of all matrices with rank 4, two layers in 16 bits.
constexpr int64_t kQueryAndValue = 128 + 96, kAllMatrices = 128 + 96 + 96 + 128 + 160 + 160 + 160;   // Inputs and outputs.
constexpr int64_t kSomeBytes = 2 * 2 * 8 * kQueryAndValue, kAllBytes = 2 * 2 * 4 * kAllMatrices;
constexpr int64_t kPadded = 2 * 2 * (8 * kQueryAndValue + 4 * (kAllMatrices - kQueryAndValue));      // Each of them, by input.

std::string Both() { return absl::StrCat("some:", GoldenPath("lora/llama-qv"), ",all:", GoldenPath("lora/llama-all.gguf")); }

std::vector<std::string> With(const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--model=" + TinyPath("llama"), "--threads=1"};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

// Answers in each way, and while adapters come and go, are those of all in memory.
TEST(AdapterModePrograms, TextsAreTheSameInEachWayAndWithLittleMemory) {
  std::string requests;
  for (const char* const name : {"all", "some", "all", "half", "some", "half", ""}) {
    absl::StrAppend(&requests, R"({"id": 1, "text": "the in re the in it", "n": 24, "temperature": 0, "adapter": ")", name, "\"}\n");
  }
  const std::string half = absl::StrCat(",half:", GoldenPath("lora/llama-all.gguf"), ":0.5");
  const auto answers = [&](const std::vector<std::string>& more, bool reads_again = false) {
    std::vector<std::string> flags = {absl::StrCat("--adapter=", Both(), half), "--jsonl", "--context=128"};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = RunProgram("tessera_generate", With(flags), requests);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(absl::StrContains(ended.errors, "adapters: read "), reads_again) << ended.errors;
    std::vector<std::string> texts;
    for (const absl::string_view line : absl::StrSplit(ended.output, '\n', absl::SkipEmpty())) {
      texts.push_back(absl::StrJoin(*Json(std::string(line)).Ints("output_tokens"), " "));
    }
    return texts;
  };
  const std::vector<std::string> expected = answers({});
  ASSERT_EQ(expected.size(), 7u);
  EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), 4u) << "or nothing here would show much";
  for (const char* const way : {"input", "mask", "graph"}) {
    EXPECT_EQ(answers({absl::StrCat("--lora_mode=", way)}), expected) << way;
    EXPECT_EQ(answers({absl::StrCat("--lora_mode=", way), "--parallel=4"}), expected) << way;
  }
  EXPECT_EQ(answers({absl::StrCat("--adapter_memory=", kAllBytes)}, /*reads_again=*/true), expected);
  EXPECT_EQ(answers({absl::StrCat("--adapter_memory=", 2 * kAllBytes), "--parallel=2"}, /*reads_again=*/true), expected);
  EXPECT_EQ(answers({"--adapter_memory=1MiB", "--parallel=4", "--lora_mode=input"}), expected);
}

TEST(AdapterModePrograms, StatsAndJsonReportThePaddingBytes) {
  const std::vector<std::string> flags = {"--adapter=" + Both(), "--use_adapter=all", "--raw", "--prompt=the in", "--n_predict=2",
                                          "--lora_mode=input"};
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), more.begin(), more.end());
    return RunProgram("tessera_generate", With(all));
  };
  const Ended stats = run({"--stats"});
  EXPECT_TRUE(absl::StrContains(stats.errors, "adapters: 2 by input, ")) << stats.errors;
  EXPECT_TRUE(absl::StrContains(stats.errors, " are padding\n")) << stats.errors;
  const int64_t padding = 2 * kPadded - kAllBytes - kSomeBytes;
  const JsonValue adapters = *Json(run({"--json"}).output).Object("adapters");
  EXPECT_EQ(*adapters.String("lora_mode"), "input");
  EXPECT_EQ(*adapters.Int("bytes"), 2 * kPadded);
  EXPECT_EQ(*adapters.Int("padding_bytes"), padding);
  const JsonValue plan = Json(run({"--json", "--dry_run"}).output);
  EXPECT_EQ(*plan.Int("adapter_padding_bytes"), padding);
  EXPECT_EQ(*plan.Object("memory_bytes")->Int("adapters"), 2 * kPadded);
  EXPECT_TRUE(absl::StrContains(run({"--dry_run"}).output, "\nadapters: padding ")) << "a row of its own";
}

}  // namespace
}  // namespace tessera
