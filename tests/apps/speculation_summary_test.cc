// What programs report about their drafts. Costs are frozen, so drafts are the same in every run.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/spec/cost_profile.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Generate(const std::string& model, std::vector<std::string> flags) {
  for (const std::string& flag : {"--model=" + TinyPath(model), std::string("--threads=1"), std::string("--json")}) flags.push_back(flag);
  Ended ended = RunProgram("tessera_generate", flags);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return ended;
}

const std::string& FreeRows() {
  static const std::string file = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation/flat_costs.json";
  return file;
}

TEST(SpeculationSummary, WhereRowsAreFreeDraftsAreVerifiedAndTextsAreTheSame) {
  for (const std::string model : {"llama", "qwen2", "qwen3", "gemma3"}) {
    for (const std::string temperature : {"0", "0.3"}) {
      const std::vector<std::string> flags = {"--prompt=a a a a a a a a", "--n_predict=40", "--temperature=" + temperature, "--seed=7",
                                              "--min_p=0.1", "--repetition_penalty=1.05"};
      std::vector<std::string> plain = flags, drafted = flags;
      plain.push_back("--speculate=none");
      drafted.push_back("--cost_profile=" + FreeRows());
      const JsonValue expected = Json(Generate(model, plain).output), found = Json(Generate(model, drafted).output);
      EXPECT_EQ(*found.String("text"), *expected.String("text")) << model;
      const JsonValue speculation = *found.Object("timings")->Object("speculation");
      EXPECT_GT(*speculation.Int("rows"), *speculation.Int("passes")) << model;
      EXPECT_GE(*speculation.Int("head_rows"), *speculation.Int("tokens")) << model;
      EXPECT_GT(*speculation.Int("prompt_tokens"), 0) << model;
      EXPECT_LE(*speculation.Int("prompt_tokens_learnt_from"), *speculation.Int("prompt_tokens")) << model;
    }
  }
}

// Ten passes' time for each guess.
TEST(SpeculationSummary, ADrafterThatTakesTooLongIsPausedAndTheSummarySaysWhy) {
  const TemporaryFolder folder;
  const std::string file = folder.Path("costs.json");
  CostProfile costs;
  for (const int rows : {1, 8}) {
    costs.AddPass({.rows = rows}, 1e-3);
    costs.AddHead(rows, 1e-4);
  }
  costs.AddDraft("lookup", 1e-2);
  ASSERT_TRUE(costs.Save(file).ok());
  const Ended ended = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--threads=1", "--prompt=a a a a", "--n_predict=80",
                                                      "--temperature=0", "--speculate=lookup", "--stats", "--cost_profile=" + file});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.errors.find("lookup: paused"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("of a pass more than it gave"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace tessera
