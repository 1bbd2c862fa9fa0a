// tessera_bench adapters on a small random model: what it compares, and what memory it counts.
#include "tessera/apps/bench/adapters/adapter_speed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/apps/bench/adapters/adapter_reads.h"
#include "tessera/apps/bench/batch/texts_together.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/adapter_set.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// Files are written and read there.
class AdapterSpeedTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
};

std::unique_ptr<Engine> SmallEngine(const AdapterSpeedOptions& asked) {
  return TinyEngine({.layers = 1, .writes_letters = true},
                    {.compute = {.threads = 1},
                     .cache = {.context = asked.NeededContext(), .cache_tokens = std::max(1024, asked.NeededTokens())},
                     .workload = {.sessions = kAdaptedTexts + 1}});
}

TEST_F(AdapterSpeedTest, HeaderExample) {
  std::string written;
  const auto WriteOutput = [&](const std::string& text) {
    written = text;
    return absl::OkStatus();
  };
  const auto run = [&]() -> absl::Status {
    AdapterSpeedOptions asked = {.adapters = 9, .rank = 3, .generate_tokens = 16, .depth = 2, .repetitions = 2};
    const auto engine = SmallEngine(asked);
    ASSIGN_OR_RETURN(const AdapterSpeed speed, MeasureAdapters(*engine, asked));
    RETURN_IF_ERROR(WriteOutput(AdapterSpeedText(speed)));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_TRUE(absl::StrContains(written, "9 adapters of rank 3 in memory: ")) << written;
}

// A folder in memory has no drive to read from, which is said.
TEST_F(AdapterSpeedTest, AnAdapterIsReadFromTheDriveOrTheReportSaysWhyNot) {
  const AdapterSpeedOptions asked = {.adapters = 8, .rank = 4, .generate_tokens = 16, .depth = 2, .repetitions = 2};
  const auto engine = SmallEngine(asked);
  const AdapterSpeed speed = Must(MeasureAdapters(*engine, asked));
  EXPECT_TRUE(absl::StrContains(AdapterSpeedText(speed), "one from the drive")) << AdapterSpeedText(speed);
  EXPECT_EQ(speed.read.has_value(), speed.unread.empty());
  if (speed.read.has_value()) {
    EXPECT_GT(speed.read->file_bytes, speed.adapter_bytes);
    EXPECT_GT(speed.read->plain_seconds.min, 0);
    EXPECT_GT(speed.read->seconds.min, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "the files are gone";
  const CacheFolderFor nowhere("/dev/null/none");
  const AdapterSpeed without = Must(MeasureAdapters(*engine, asked));
  EXPECT_FALSE(without.read.has_value());
  EXPECT_TRUE(absl::StrContains(without.unread, "/dev/null/none/adapters-")) << without.unread;
  EXPECT_TRUE(absl::StrContains(AdapterSpeedText(without), "one from the drive: not measured: /dev/null/none"));
}

// Each was given up for the other, and is what it was before.
TEST_F(AdapterSpeedTest, ReadsExample) {
  const AdapterSpeedOptions asked;
  const auto engine = SmallEngine(asked);
  const auto run = [&]() -> absl::StatusOr<double> {
    double shown = 0;
    const auto Show = [&](double ratio) { shown = ratio; };
    ASSIGN_OR_RETURN(std::unique_ptr<AdapterReads> reads, AdapterReads::Create(*engine, /*rank=*/8));
    ASSIGN_OR_RETURN(const std::optional<AdapterReads::Pair> pair, reads->Measure());
    if (pair.has_value()) Show(pair->switch_seconds / pair->plain_seconds);
    for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(reads->Measure().status());
    return pair.has_value() ? shown : 1;
  };
  EXPECT_GT(Must(run()), 0);
}

TEST_F(AdapterSpeedTest, EachFigureIsPresentAndBytesMatchTheMatrices) {
  const AdapterSpeedOptions asked = {.adapters = 10, .rank = 4, .generate_tokens = 16, .depth = 3, .repetitions = 2};
  const auto engine = SmallEngine(asked);
  const AdapterSpeed speed = Must(MeasureAdapters(*engine, asked));
  int64_t numbers = 0;
  for (const LoraShape& shape : LoraShapesOf(engine->config())) numbers += shape.in + shape.out;
  EXPECT_EQ(speed.adapter_bytes, 4 * numbers * 2);
  EXPECT_EQ(speed.all_bytes, 10 * speed.adapter_bytes);
  for (const double figure : {speed.plain_seconds.median, speed.adapted_seconds.median, speed.pass_ratio, speed.off_ratio, speed.one_rate,
                              speed.several_rate, speed.several_ratio, speed.switch_seconds.median}) {
    EXPECT_GT(figure, 0);
  }
  EXPECT_EQ(speed.most_pass_ratio, 1.35) << "a narrow model";
  ASSERT_EQ(speed.ways.size(), 3u);
  const int64_t own = (4 * 4 + 4 * 2) * numbers * 2;   // Every second has half the rank.
  EXPECT_EQ(speed.ways[0].bytes, 8 * 4 * numbers * 2);
  EXPECT_EQ(speed.ways[0].padding_bytes, speed.ways[0].bytes - own);
  EXPECT_EQ(speed.ways[1].bytes, own);
  EXPECT_EQ(speed.ways[2].bytes, own);
  JsonWriter json;
  WriteAdapterSpeed(speed, json);
  const JsonValue read = Must(JsonValue::Parse(std::move(json).Take(), "speed"));
  EXPECT_EQ(Must(read.Int("all_bytes")), speed.all_bytes);
  EXPECT_EQ(Must(Must(read.Array("ways"))[2].String("lora_mode")), "graph");
}

// Texts of a measurement have the adapters that it gives them, in turn.
TEST_F(AdapterSpeedTest, TextsTogetherHaveTheirAdapters) {
  const AdapterSpeedOptions asked;
  const auto engine = SmallEngine(asked);
  const LoraAdapter adapter = RandomAdapter(engine->config(), 4, kAllTargets, 1);
  CostProfile costs;
  const auto tokens = [&](const LoraAdapter* of_text) {
    std::vector<TokenId> written;
    const auto texts = Must(TextsTogether::Create(*engine, costs));
    texts->Add({1, 2, 3}, {.max_tokens = 8, .ignore_end = true}, of_text);
    Must(texts->StepUntil([&] { return texts->text(0).ended; }));
    return texts->text(0).token_seconds.size();
  };
  EXPECT_EQ(tokens(nullptr), 8u);
  EXPECT_EQ(tokens(&adapter), 8u);
  const LoraAdapter none = Must(LoraAdapter::Create(2, kLoraTargets));   // It is for a model with two layers.
  const std::vector<std::vector<TokenId>> prompts = {{1, 2, 3}};
  const LoraAdapter* const wrong[] = {&adapter, &none};
  EXPECT_EQ(WriteTogether(*engine, costs, {.texts = 2, .tokens = 4, .prompts = prompts, .adapters = wrong, .ignore_end = true})
                .status().code(), absl::StatusCode::kInvalidArgument) << "the second text has the second";
}

TEST_F(AdapterSpeedTest, FlagsOutOfRangeAreRefused) {
  for (const char* const flag : {"--adapters=7", "--rank=0", "--rank=1025", "--depth=0", "--generate_tokens=0"}) {
    const Ended ended = RunProgram("tessera_bench adapters", {"--model=" + TinyPath("llama"), flag});
    EXPECT_EQ(ended.code, 2) << flag;
    EXPECT_TRUE(absl::StrContains(ended.errors, std::string(flag).substr(0, std::string(flag).find('=')) + ": found ")) << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
