// --dry_run: what it predicts is what a run takes.
#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

JsonValue RunJson(const std::string& program, const std::vector<std::string>& arguments) {
  const Ended ended = RunProgram(program, arguments);
  absl::StatusOr<JsonValue> value = JsonValue::Parse(ended.output);
  CHECK(value.ok()) << value.status() << ended.errors;
  return *value;
}

TEST(DryRun, PartsMatchALoadedEngine) {
  for (const std::string path : {"fast", "reference"}) {
    for (const std::string model : kArchitectures) {
      const JsonValue plan = RunJson("tessera_generate", {"--model=" + TinyPath(model), "--dry_run", "--json", "--context=128",
                                                          "--threads=2", "--path=" + path});
      const absl::StatusOr<std::unique_ptr<Engine>> engine =
          Engine::Load({.model_path = TinyPath(model),
                        .compute = {.threads = 2, .path = path == "fast" ? ComputePath::kFast : ComputePath::kReference},
                        .cache = {.context = 128}});
      ASSERT_TRUE(engine.ok()) << engine.status();
      const EngineMemory memory = (*engine)->memory();
      const JsonValue bytes = *plan.Object("memory_bytes");
      EXPECT_EQ(*bytes.Int("weights"), memory.weights);
      EXPECT_EQ(*bytes.Int("cache"), memory.cache);
      EXPECT_EQ(*bytes.Int("graphs"), memory.graphs);
      EXPECT_EQ(*bytes.Int("hidden_states"), memory.hidden_states);
      EXPECT_EQ(*bytes.Int("logits"), 33 * (*engine)->config().vocabulary * 4) << "the session's, and those of a prompt";
      EXPECT_GT(*bytes.Int("drafting"), 0);
      int64_t sum = 0;
      for (const std::string& part : bytes.Keys()) sum += part == "total" ? 0 : *bytes.Int(part);
      EXPECT_EQ(*bytes.Int("total"), sum);
    }
  }
}

TEST(DryRun, SizesEqualHandComputedValues) {
  const JsonValue plan = RunJson("tessera_generate", {"--model=" + TinyPath("llama"), "--dry_run", "--json", "--context=128"});
  EXPECT_EQ(*plan.Int("layers"), 2);
  EXPECT_EQ(*plan.Int("context"), 128);
  EXPECT_EQ(*plan.Object("memory_bytes")->Int("cache"), 2 * 2 * 2 * 16 * 128 * 2)
      << "layers, keys and values, heads, head size, slots, FP16";
  const JsonValue bytes8 =
      RunJson("tessera_generate", {"--model=" + TinyPath("llama"), "--dry_run", "--json", "--context=128", "--kv_format=q8"});
  EXPECT_EQ(*bytes8.Object("memory_bytes")->Int("cache"), 2 * 2 * 2 * 128 * (16 + 4)) << "a byte a number, and a scale for each head";
  EXPECT_EQ(*bytes8.String("kv_format"), "8-bit");
  int64_t tensors = 0, bytes = 0;
  const JsonValue formats = *plan.Array("formats");
  for (int64_t i = 0; i < formats.size(); ++i) {
    tensors += *formats[i].Int("tensors");
    bytes += *formats[i].Int("bytes");
  }
  EXPECT_EQ(tensors, 21) << "all tensors of the file";
  EXPECT_LE(bytes, *plan.Object("memory_bytes")->Int("weights"));
}

TEST(DryRun, APromptOfFlagsIsReadAndCounted) {
  const TemporaryFolder folder;
  std::ofstream(folder.Path("prompt")) << "abc abc";
  const std::string model = "--model=" + TinyPath("llama"), file = "--prompt_file=" + folder.Path("prompt");
  for (const std::string& prompt : {std::string("--prompt=abc abc"), file}) {
    const std::vector<std::string> flags = {model, "--threads=1", "--json", "--raw", "--temperature=0", prompt};
    std::vector<std::string> dry = flags, run = flags;
    dry.push_back("--dry_run");
    run.push_back("--n_predict=1");
    EXPECT_EQ(*RunJson("tessera_generate", dry).Int("prompt_tokens"),
              *RunJson("tessera_generate", run).Object("timings")->Int("prompt_tokens"));
  }
  const Ended shown = RunProgram("tessera_logits", {model, "--dry_run", file});
  EXPECT_NE(shown.output.find("prompt"), std::string::npos) << shown.output;
  EXPECT_EQ(*RunJson("tessera_perplexity", {model, "--dry_run", "--json", "--window=4", file}).Int("prompt_tokens"), 4);
  EXPECT_FALSE(RunJson("tessera_generate", {model, "--dry_run", "--json"}).Has("prompt_tokens"));
}

TEST(DryRun, EndsWithTheErrorThatThePromptOfARunHas) {
  const std::string model = "--model=" + TinyPath("llama");
  for (const char* program : {"tessera_generate", "tessera_logits", "tessera_perplexity"}) {
    const Ended ended = RunProgram(program, {model, "--dry_run", "--prompt_file=/nowhere/prompt"});
    EXPECT_NE(ended.code, 0) << program;
    EXPECT_NE(ended.errors.find("/nowhere/prompt"), std::string::npos) << ended.errors;
  }
  const Ended long_prompt = RunProgram("tessera_generate", {model, "--dry_run", "--raw", "--context=4", "--prompt=a b c d e f g h i j"});
  EXPECT_EQ(long_prompt.code, 1) << long_prompt.output;
  EXPECT_NE(long_prompt.errors.find("context"), std::string::npos) << long_prompt.errors;
}

TEST(DryRun, SaysThatNeitherRequestsNorStandardInputAreRead) {
  const std::string model = "--model=" + TinyPath("llama"), input = "A dry run does not read standard input.\n";
  const Ended requests = RunProgram("tessera_generate", {model, "--dry_run", "--jsonl"}, "no JSON\n");
  EXPECT_EQ(requests.code, 0);
  EXPECT_NE(requests.errors.find("A dry run reads no requests.\n"), std::string::npos) << requests.errors;
  const Ended named = RunProgram("tessera_generate", {model, "--dry_run", "--prompt_file=-"}, "abc");
  EXPECT_EQ(named.code, 0);
  EXPECT_NE(named.errors.find(input), std::string::npos) << named.errors;
}

TEST(DryRun, CountsTheBytesOfAPromptUnderABudgetAsTheRunDoes) {
  const TemporaryFolder folder;
  for (const size_t bytes : {2000, 6000}) {
    ASSERT_TRUE(WriteFileAtomically(folder.Path(absl::StrCat(bytes)), std::string(bytes, 'a')).ok());
  }
  for (const char* program : {"tessera_generate", "tessera_logits", "tessera_perplexity", "tessera_quantize states"}) {
    const auto requests = [&](const char* file) {
      std::vector<std::string> more = {"--model=" + TinyPath("llama"), "--dry_run", "--json", "--context=8192", "--memory_budget=1GiB",
                                       "--prompt_file=" + folder.Path(file)};
      if (std::string(program) == "tessera_quantize states") more.push_back("--generate");   // The text stays whole.
      return *RunJson(program, more).Object("memory_bytes")->Int("requests");
    };
    EXPECT_GE(requests("6000"), requests("2000") + 4000 * 16) << program;
  }
}

// Formats that take more in memory than in the file say so: 4.6875 bits per weight of 2.0625, and more for rows up to a multiple of 32.
TEST(DryRun, AFormatThatGrowsSaysByHowMuch) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf");
  TinyModelBuilder({.width = 256, .feed_forward = 256, .head_size = 64, .layers = 1, .formats = {BlockFormat::kIQ2_XXS}}).WriteTo(path);
  const JsonValue plan = RunJson("tessera_generate", {"--model=" + path, "--dry_run", "--json", "--context=128"});
  const JsonValue formats = *plan.Array("formats");
  ASSERT_EQ(formats.size(), 2);
  const JsonValue format = formats[1];
  EXPECT_EQ(*format.String("format"), "IQ2_XXS");
  EXPECT_EQ(*format.Int("tensors"), 9);
  const int64_t blocks = 5 * 256 + 2 * 128;  // Rows of 256 in a layer's seven matrices: keys and values have half as many.
  EXPECT_EQ(*format.Int("file_bytes"), (blocks + 2 * kTinyVocabulary) * 66);
  EXPECT_EQ(*format.Int("bytes"), (blocks + 2 * 288) * 150);
  const Ended shown = RunProgram("tessera_generate", {"--model=" + path, "--dry_run", "--context=128"});
  EXPECT_NE(shown.output.find("in the file"), std::string::npos) << shown.output;
}

TEST(DryRun, WithoutDraftsThereIsNoMemoryForThem) {
  const std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--dry_run", "--json", "--context=128"};
  std::vector<std::string> plain = flags;
  plain.push_back("--speculate=none");
  const JsonValue with = *RunJson("tessera_generate", flags).Object("memory_bytes"),
                  without = *RunJson("tessera_generate", plain).Object("memory_bytes");
  EXPECT_EQ(*without.Int("drafting"), 0);
  EXPECT_EQ(*with.Int("logits"), 33 * *without.Int("logits"));
}

TEST(DryRun, UnderABudgetTheTotalFitsTheBudget) {
  const PackedModel packed(TinyPath("llama"));
  for (const std::string program : {"tessera_generate", "tessera_perplexity", "tessera_bench speed"}) {
    SCOPED_TRACE(program);
    const auto plan = [&](const std::string& budget) {
      return RunJson(program, {"--model=" + packed.path(), "--dry_run", "--json", "--context=512", "--flash=ufs4.0",
                               "--memory_budget=" + budget});
    };
    const int64_t least = *plan("1GiB").Object("memory_budget")->Int("least");
    for (const int64_t budget : {least, least + 12345, int64_t{1} << 30}) {
      const JsonValue of_budget = plan(absl::StrCat(budget)), bytes = *of_budget.Object("memory_bytes");
      int64_t sum = 0;
      for (const std::string& part : bytes.Keys()) sum += part == "total" ? 0 : *bytes.Int(part);
      EXPECT_EQ(*bytes.Int("total"), sum);
      EXPECT_LE(*bytes.Int("total"), budget);
      EXPECT_EQ(*bytes.Int("total"), *of_budget.Object("memory_budget")->Int("total"));
      const JsonValue forecasts = *of_budget.Object("memory_budget")->Array("forecasts");
      ASSERT_EQ(forecasts.size(), 4) << "this budget and three others";
      EXPECT_EQ(*forecasts[0].Int("budget"), budget);
    }
  }
}

// Nobody asked for the 8192 tokens that the model was trained for.
TEST(DryRun, AContextThatWasNotAskedForIsTheLargestWithinTheBudget) {
  const PackedModel packed(TinyModelBuilder({.heads = 4, .kv_heads = 4, .head_size = 64, .layers = 8, .context = 8192}));
  const auto flags = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"--model=" + packed.path(), "--threads=1", "--flash=ufs4.0", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const JsonValue asked = RunJson("tessera_generate", flags({"--dry_run", "--memory_budget=1GiB", "--context=4096"}));
  const int64_t least = *asked.Object("memory_budget")->Int("least");
  const std::string budget = absl::StrCat("--memory_budget=", least + (int64_t{1} << 20));
  const Ended planned = RunProgram("tessera_generate", flags({"--dry_run", budget}));
  ASSERT_EQ(planned.code, 0) << planned.errors;
  const JsonValue plan = Json(planned.output);
  const int64_t context = *plan.Int("context");
  EXPECT_GE(context, 4096);
  EXPECT_LT(context, 8192);
  EXPECT_EQ(context % 256, 0);
  EXPECT_EQ(*plan.Int("wanted_context"), 8192);
  EXPECT_LE(*plan.Object("memory_bytes")->Int("total"), *plan.Object("memory_budget")->Int("budget"));
  const std::string said = " tokens, the most that the memory budget has room for, not the usual 8192; --context=N sets it";
  EXPECT_NE(planned.errors.find(absl::StrCat("context: takes ", context, said)), std::string::npos) << planned.errors;

  const Ended run = RunProgram("tessera_generate", flags({budget, "--prompt=the", "--raw", "--n_predict=2", "--temperature=0"}));
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.errors.find(said), std::string::npos) << run.errors;
  EXPECT_GE(*Json(run.output).Int("context"), 4096);
  EXPECT_EQ(*Json(run.output).Int("wanted_context"), 8192);

  const Ended refused = RunProgram("tessera_generate", flags({"--dry_run", budget, "--context=8192"}));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.errors.find("keys and values for a context of 8192 tokens"), std::string::npos) << refused.errors;
}

TEST(DryRun, EveryProgramThatLoadsWeightsOnceHasADryRun) {
  const std::string model = "--model=" + TinyPath("llama");
  for (const std::string program : {"tessera_bench speed", "tessera_bench overhead", "tessera_bench attention", "tessera_bench memory",
                                    "tessera_bench batch", "tessera_bench samples",
                                    "tessera_generate", "tessera_logits", "tessera_perplexity"}) {
    const Ended text = RunProgram(program, {model, "--dry_run"});  // No prompt, and none is asked for.
    EXPECT_EQ(text.code, 0) << text.errors;
    for (const char* part : {"units", "F32", "weights", "keys and values", "scratch of graphs", "tokenizer", "total"}) {
      EXPECT_NE(text.output.find(part), std::string::npos) << program << ": " << part;
    }
    EXPECT_TRUE(RunJson(program, {model, "--dry_run", "--json"}).Has("memory_bytes"));
  }
  EXPECT_EQ(*RunJson("tessera_perplexity", {model, "--dry_run", "--json", "--window=64"}).Int("context"), 64) << "as in a run";
}

// The whole context is filled, in passes of all rows, so that the measured peak is the greatest there can be.
TEST(DryRun, TotalAgreesWithTheMeasuredPeakOfARealModel) {
  const std::string model = RealModelPath("smollm2");
  if (model.empty()) FAIL() << RealModelMissing("smollm2");
#ifdef TESSERA_SANITIZED
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  const TemporaryFolder folder;
  const std::string prompt = folder.Path("prompt");
  std::ofstream file(prompt);
  for (int i = 0; i < 600; ++i) file << " word";
  file.close();
  const std::vector<std::string> flags = {"--model=" + model, "--context=640", "--json", "--threads=2"};
  std::vector<std::string> plan = flags, run = flags;
  plan.push_back("--dry_run");
  run.insert(run.end(), {"--raw", "--prompt_file=" + prompt, "--n_predict=0", "--temperature=0"});
  const int64_t planned = *RunJson("tessera_generate", plan).Object("memory_bytes")->Int("total");
  const int64_t measured = *RunJson("tessera_generate", run).Object("timings")->Int("peak_memory_bytes");
  EXPECT_NEAR(static_cast<double>(measured) / static_cast<double>(planned), 1.0, 0.06)
      << planned << " planned, " << measured << " measured";
}

}  // namespace
}  // namespace tessera
