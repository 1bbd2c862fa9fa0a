// Programs that stream a model write what they write with all of it in memory, and a file that changes ends them in order.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

std::string FirstArticle() {
  std::ifstream in(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/wikitext2_articles.jsonl");
  std::string line;
  CHECK(std::getline(in, line));
  return JsonValue::Parse(line)->String("text").value();
}

TEST(StreamingPrograms, PerplexityOfAnArticleIsTheSameToTheLastDigit) {
  const TemporaryFolder folder;
  std::ofstream(folder.Path("article")) << FirstArticle();
  for (const char* name : {"smollm2", "gemma3"}) {
    const std::string gguf = RealModelPath(name);
    if (gguf.empty()) FAIL() << RealModelMissing(name);
    const PackedModel packed(gguf);
    const auto perplexity = [&](const std::string& model, const std::vector<std::string>& more) {
      std::vector<std::string> flags = {"--model=" + model, "--prompt_file=" + folder.Path("article"), "--window=48", "--max_windows=1",
                                        "--json", "--threads=2"};
      flags.insert(flags.end(), more.begin(), more.end());
      const Ended ended = RunProgram("tessera_perplexity", flags);
      const absl::StatusOr<JsonValue> json = JsonValue::Parse(ended.output);
      CHECK(json.ok()) << ended.errors;
      return json->Double("perplexity").value();
    };
    const double expected = perplexity(gguf, {});
    EXPECT_GT(expected, 1);
    EXPECT_EQ(perplexity(packed.path(), {}), expected) << name;
    EXPECT_EQ(perplexity(packed.path(), {"--memory_budget=170MiB", "--verify=always"}), expected) << name;
    EXPECT_EQ(perplexity(packed.path(), {"--memory_budget=1GiB", "--pin=none", "--io=buffered", "--verify=never"}), expected) << name;
    EXPECT_EQ(perplexity(packed.path(), {"--memory_budget=200MiB", "--pin=prefix", "--io=pread", "--flash=ufs3.1"}), expected) << name;
  }
}

TEST(StreamingPrograms, ReportTheCostOfStreaming) {
  const PackedModel packed(TinyPath("gemma3"));
  const std::vector<std::string> streamed = {"--model=" + packed.path(), "--memory_budget=1GiB", "--pin=none",
                                             "--flash=ufs3.1",           "--threads=1",          "--json"};
  const auto run = [&](const char* program, std::vector<std::string> flags) {
    flags.insert(flags.begin(), streamed.begin(), streamed.end());
    const Ended ended = RunProgram(program, flags);
    for (const char* part : {"0 % of the weights pinned", "each of ", " GB/s, ", " % of the flash\nstreaming, pass: computes ",
                             " MiB, mapped code "}) {
      EXPECT_NE(ended.errors.find(part), std::string::npos) << part << " in " << ended.errors;
    }
    return Json(ended.output);
  };
  const JsonValue generated =
      *run("tessera_generate", {"--raw", "--prompt=abc", "--n_predict=4", "--temperature=0", "--speculate=none", "--stats"})
           .Object("timings");
  const JsonValue scored = run("tessera_perplexity", {"--prompt=abcdefgh", "--window=4", "--max_windows=2"});
  const JsonValue shown = run("tessera_logits", {"--prompt=abc"});
  for (const auto& [json, passes] : {std::pair(&generated, 4), std::pair(&scored, 2), std::pair(&shown, 1)}) {
    EXPECT_GT(*json->Int("peak_memory_bytes"), 1 << 20);
    const JsonValue figures = *json->Object("streaming");
    const int64_t count = *figures.Int("passes");
    EXPECT_EQ(count, passes);
    EXPECT_GT(*figures.Int("bytes_read"), 0);
    EXPECT_EQ(*figures.Double("flash_bytes_per_second"), 2.1e9);
    EXPECT_NEAR(*figures.Double("of_flash"), *figures.Double("bytes_per_second") / 2.1e9, 1e-4);
    EXPECT_EQ(*figures.Double("pinned_share"), 0);
    const JsonValue seconds = *figures.Object("seconds"), each = *figures.Object("seconds_per_pass");
    for (const char* name : {"compute", "read", "stall"}) {
      EXPECT_GE(*seconds.Double(name), 0) << name;
      EXPECT_NEAR(*each.Double(name) * static_cast<double>(count), *seconds.Double(name), 1e-4) << name;
    }
    EXPECT_GT(*seconds.Double("compute"), 0);
    EXPECT_NEAR(*figures.Double("bytes_per_second") * *seconds.Double("read"), *figures.Int("bytes_read"),
                1e-4 * *figures.Int("bytes_read"));
  }
}

// The models have little more than a ring, or less: what fits into it as a whole is read once.
TEST(StreamingPrograms, ReadTheForeseenBytesPerPass) {
  int read_once = 0;
  for (const char* model : kArchitectures) {
    const PackedModel packed(TinyPath(model));
    const std::vector<std::string> flags = {"--model=" + packed.path(), "--memory_budget=1GiB", "--pin=none",   "--flash=ufs4.0",
                                            "--context=256",            "--threads=1",          "--json",       "--speculate=none"};
    const auto run = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = flags;
      all.insert(all.end(), more.begin(), more.end());
      const Ended ended = RunProgram("tessera_generate", all);
      CHECK_EQ(ended.code, 0) << ended.errors;
      return Json(ended.output);
    };
    const auto streaming = [&](int tokens) {
      return *run({"--raw", "--prompt=a", "--temperature=0", absl::StrCat("--n_predict=", tokens)}).Object("timings")->Object("streaming");
    };
    const JsonValue forecast = (*run({"--dry_run"}).Object("memory_budget")->Array("forecasts"))[0];
    const int64_t foreseen = *forecast.Int("streamed_bytes_per_pass"), ring = *forecast.Int("ring_bytes");
    const JsonValue few = streaming(20), many = streaming(60);
    EXPECT_EQ(*many.Int("streamed_bytes_per_pass"), foreseen) << model;
    const int64_t passes = *many.Int("passes") - *few.Int("passes");
    ASSERT_GT(passes, 0) << model;
    constexpr int64_t kRowOfTable = 2 * 4096;  // Read apart for each token.
    const int64_t read = *many.Int("bytes_read") - *few.Int("bytes_read");
    // How far each of the two runs had read ahead when it ended is up to the machine.
    EXPECT_NEAR(read, passes * foreseen, passes * kRowOfTable + 2 * ring) << model << ", " << passes << " passes";
    if (foreseen > 0) continue;
    const int64_t rows = *many.Int("passes") + 2;   // The prompt has at most BOS and two tokens.
    EXPECT_LE(*many.Int("bytes_read"), rows * kRowOfTable + ring) << model << ": each unit once";
    ++read_once;
  }
  EXPECT_TRUE(read_once > 0 && read_once < static_cast<int>(std::size(kArchitectures))) << "both cases are here";
}

// Flash so slow that reading is all that counts, on whatever machine.
TEST(StreamingPrograms, AreAboutAsFastAsForeseen) {
  const std::string gguf = RealModelPath("smollm2");
  if (gguf.empty()) FAIL() << RealModelMissing("smollm2");
  const PackedModel packed(gguf);
  const TemporaryFolder folder;
  std::ofstream(folder.Path("flash")) << "name: \"slow\" speed { block_bytes: 1048576 depth: 1 megabytes_per_second: 300 source: \"-\" }";
  std::vector<std::string> flags = {"--model=" + packed.path(), "--memory_budget=120MiB", "--context=512", "--threads=2", "--json",
                                    "--speculate=none", "--flash=" + folder.Path("flash")};
  std::vector<std::string> dry = flags;
  dry.push_back("--dry_run");
  const JsonValue plan = *Json(RunProgram("tessera_generate", dry).output).Object("memory_budget");
  const JsonValue forecasts = *plan.Array("forecasts");
  const double foreseen = *forecasts[0].Double("tokens_per_second");
  EXPECT_NEAR(foreseen, 300e6 / static_cast<double>(*forecasts[0].Int("streamed_bytes_per_pass")), 0.01 * foreseen);
  flags.insert(flags.end(), {"--raw", "--prompt=The war began when", "--n_predict=12", "--temperature=0"});
  const double measured = *Json(RunProgram("tessera_generate", flags).output).Object("timings")->Double("generation_tokens_per_second");
  EXPECT_LT(measured, 1.25 * foreseen);  // The first pass finds a ring that was filled before.
  EXPECT_GT(measured, 0.67 * foreseen);
}

TEST(StreamingPrograms, AreForeseenToBeNoFasterThanTheirProductsAndMemory) {
  const PackedModel packed(TinyPath("llama"));
  for (const std::string kernels : {"auto", "portable"}) {
    const JsonValue plan =
        *Json(RunProgram("tessera_generate", {"--model=" + packed.path(), "--dry_run", "--json", "--threads=1", "--flash=ufs4.0",
                                              "--memory_budget=1GiB", "--kernels=" + kernels})
                  .output)
             .Object("memory_budget");
    const double products = *plan.Double("product_seconds"), memory = *plan.Double("memory_bytes_per_second");
    EXPECT_GT(products, 0);
    const JsonValue forecasts = *plan.Array("forecasts");
    for (int64_t i = 0; i < forecasts.size(); ++i) {
      const double seconds = 1 / *forecasts[i].Double("tokens_per_second");
      EXPECT_GE(seconds, 0.99 * products) << kernels;
      EXPECT_GE(seconds, 0.99 * static_cast<double>(*forecasts[i].Int("streamed_bytes_per_pass")) / memory) << kernels;
    }
  }
}

TEST(StreamingPrograms, WithUnpackedModelsReportTheEffectOfABudget) {
  const std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--memory_budget=1GiB", "--threads=1"};
  std::vector<std::string> run = flags, dry = flags;
  run.insert(run.end(), {"--raw", "--prompt=a", "--n_predict=1"});
  dry.push_back("--dry_run");
  const Ended ended = RunProgram("tessera_generate", run);
  EXPECT_NE(ended.errors.find("memory budget 1.00 GiB: all weights in memory ("), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find(" MiB, mapped code "), std::string::npos) << "what the peak has and no budget counts: " << ended.errors;
  EXPECT_NE(RunProgram("tessera_generate", dry).output.find("All weights stay in memory, whatever the budget"), std::string::npos);
}

TEST(StreamingPrograms, ReportThePeakMemoryOfModelsThatAreNotStreamed) {
  for (const bool budget : {true, false}) {
    std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--threads=1", "--prompt=abcdefgh", "--json"};
    if (budget) flags.push_back("--memory_budget=1GiB");
    for (const std::string program : {"tessera_logits", "tessera_perplexity"}) {
      std::vector<std::string> all = flags;
      if (program == "tessera_perplexity") all.push_back("--window=4");
      const Ended ended = RunProgram(program, all);
      const size_t peak = ended.errors.find("peak memory ");
      ASSERT_NE(peak, std::string::npos) << ended.errors;
      EXPECT_EQ(ended.errors.find(" MiB, mapped code ", peak) != std::string::npos, budget) << ended.errors;
      const JsonValue result = Json(ended.output);
      EXPECT_GT(*result.Int("peak_memory_bytes"), 1 << 20);
      EXPECT_FALSE(result.Has("streaming"));
    }
  }
}

// The file is too small for probing the flash; the program must run all the same.
TEST(StreamingPrograms, DoWithoutKnowingTheFlash) {
  const TemporaryFolder folder;
  const PackedModel packed(TinyModelBuilder({.layers = 4}));  // More than a ring has room for.
  const CacheFolderFor cache(folder.Path("empty"));
  const Ended ended = RunProgram("tessera_generate", {"--model=" + packed.path(), "--memory_budget=1GiB", "--pin=none", "--raw",
                                                      "--prompt=a", "--n_predict=2", "--threads=1", "--json"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const JsonValue figures = *Json(ended.output).Object("timings")->Object("streaming");
  EXPECT_TRUE(figures.Value("of_flash")->is_null());
  EXPECT_NE(ended.errors.find("speed unknown"), std::string::npos) << ended.errors;
  const std::string why = absl::StrCat("the speed of the flash stays unknown: ", packed.path(), ": size: found ");
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(ended.errors, why)).size(), 2) << "said once: " << ended.errors;
}

// A streamer reads 4 MiB at once, so a profile's speeds for smaller reads do not apply.
TEST(StreamingPrograms, ForeseeTheSpeedOfAProfileAtTheSizeThatIsRead) {
  const PackedModel packed(TinyPath("llama"));
  const TemporaryFolder folder;
  std::ofstream(folder.Path("flash")) << "name: \"by size\""
                                      << " speed { block_bytes: 1048576 depth: 8 megabytes_per_second: 1000 source: \"-\" }"
                                      << " speed { block_bytes: 4194304 depth: 8 megabytes_per_second: 3000 source: \"-\" }";
  const Ended ended = RunProgram("tessera_generate", {"--model=" + packed.path(), "--memory_budget=1GiB", "--threads=1", "--json",
                                                      "--dry_run", "--flash=" + folder.Path("flash")});
  EXPECT_EQ(*Json(ended.output).Object("memory_budget")->Double("flash_bytes_per_second"), 3e9) << ended.errors;
}

TEST(StreamingPrograms, AFileOverwrittenInPlaceEndsTheAnswerInOrder) {
  const std::string gguf = RealModelPath("smollm2");
  if (gguf.empty()) FAIL() << RealModelMissing("smollm2");
  const PackedModel packed(gguf);
  Program program("tessera_generate", {"--model=" + packed.path(), "--memory_budget=2GiB", "--pin=none", "--raw", "--prompt=The war",
                                       "--n_predict=0", "--temperature=0", "--threads=1"});
  ASSERT_FALSE(program.FirstOutput().empty());
  std::fstream(packed.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(1 << 16).write("other", 5);
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.errors.find(packed.path()), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("changed"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace tessera
