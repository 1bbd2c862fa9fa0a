// --lora_mode and --adapter_memory: how adapters lie in memory, and which of them are there.
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
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/usage_error.h"
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

class AdapterModes : public testing::Test {
 protected:
  AdapterModes() {
    FLAGS_jsonl = true;
    FLAGS_adapter = Both();
  }
  absl::StatusOr<Adapters> Read() {
    options_ = {.model_path = TinyPath("llama")};
    return Adapters::OfFlags(options_);
  }
  const Workload& workload() const { return options_.workload; }

 private:
  const gflags::FlagSaver flags_before_;
  EngineOptions options_;
};

TEST_F(AdapterModes, EachWayHasItsMemory) {
  for (const char* const way : {"graph", "mask", "input"}) {
    FLAGS_lora_mode = way;
    const Adapters adapters = Must(Read());
    const int64_t padding = FLAGS_lora_mode == "input" ? 2 * kPadded - kAllBytes - kSomeBytes : 0;
    EXPECT_EQ(workload().adapter_bytes, kAllBytes + kSomeBytes + padding) << way;
    EXPECT_EQ(workload().adapter_padding, padding) << way;
    EXPECT_EQ(workload().adapter_room, 0);
    const std::string shown = padding == 0 ? "" : absl::StrCat(", of which ", FormatByteSize(padding), " are padding");
    EXPECT_EQ(adapters.StatsLine(), absl::StrCat("adapters: 2 by ", way, ", ", FormatByteSize(workload().adapter_bytes), shown, "\n"));
  }
}

TEST_F(AdapterModes, AnUnknownModeAndAModeWithoutAdaptersAreRefused) {
  FLAGS_lora_mode = "both";
  EXPECT_EQ(Read().status().message(), "lora_mode: found \"both\", expected input, mask or graph");
  FLAGS_adapter = "";
  FLAGS_lora_mode = "mask";
  EXPECT_EQ(Read().status().message(), "lora_mode: found without --adapter, expected both");
}

// Room for one of the two: the other is read when it is named, and then the first again.
TEST_F(AdapterModes, AdaptersBeyondTheMemoryAreReadWhenNamed) {
  FLAGS_adapter_memory = absl::StrCat(kAllBytes);
  const Adapters adapters = Must(Read());
  EXPECT_EQ(workload().adapter_bytes, kSomeBytes) << "the first fits, the second beside it does not";
  EXPECT_EQ(workload().adapter_room, kAllBytes - kSomeBytes);
  EXPECT_EQ(adapters.ReadsLine(), "");
  const Sha256Sum some = Must(adapters.Lease(0))->Sum(), all = Must(adapters.Lease(1))->Sum();
  EXPECT_NE(some, all);
  EXPECT_EQ(Must(adapters.Lease(0))->Sum(), some);
  EXPECT_TRUE(absl::StartsWith(adapters.ReadsLine(), "adapters: read 3 times, ")) << adapters.ReadsLine();
}

// By input both are as large as if each matrix had the larger rank, whichever of them memory holds.
TEST_F(AdapterModes, PaddingCountsInTheirMemory) {
  FLAGS_lora_mode = "input";
  for (const bool has_room : {true, false}) {
    FLAGS_adapter_memory = absl::StrCat(has_room ? 2 * kPadded : 2 * kPadded - 1);
    const Adapters adapters = Must(Read());
    EXPECT_EQ(workload().adapter_bytes, has_room ? 2 * kPadded : kPadded);
    EXPECT_EQ(workload().adapter_padding, has_room ? 2 * kPadded - kAllBytes - kSomeBytes : kPadded - kSomeBytes);
    for (const int number : {0, 1, 0}) EXPECT_EQ(Must(adapters.Lease(number))->bytes(), kPadded);
    EXPECT_EQ(adapters.ReadsLine().empty(), has_room);
  }
}

TEST_F(AdapterModes, TooLittleMemoryAndNoneToUseAreRefused) {
  FLAGS_adapter_memory = absl::StrCat(kAllBytes);
  FLAGS_parallel = 2;
  EXPECT_EQ(Read().status().message(),
            absl::StrCat("adapter_memory: found ", FormatByteSize(kAllBytes), ", expected at least ", kAllBytes + kSomeBytes,
                         " bytes, for the largest of as many texts as are written at once: 2"));
  FLAGS_lora_mode = "mask";
  EXPECT_EQ(Read().status().message(), "adapter_memory: found with --lora_mode=mask, expected input or graph: a mask has all in memory");
  FLAGS_lora_mode = "graph";
  FLAGS_adapter_memory = "many";
  EXPECT_EQ(FieldOf(Read().status()), "adapter_memory");
  FLAGS_adapter_memory = "1MiB";
  FLAGS_adapter = "";
  EXPECT_EQ(Read().status().message(), "adapter_memory: found without --adapter, expected both");
}

// A text alone needs the one that it has.
TEST_F(AdapterModes, WithoutRequestsTheUsedOneIsReadAndNoOther) {
  FLAGS_jsonl = false;
  FLAGS_use_adapter = "all";
  FLAGS_adapter_memory = "1MiB";
  const Adapters adapters = Must(Read());
  EXPECT_EQ(workload().adapter_bytes, kAllBytes);
  EXPECT_EQ(workload().adapter_room, 0);
  EXPECT_EQ(Must(adapters.Lease(adapters.chosen()))->bytes(), kAllBytes);
}

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
