// What programs report about their drafts. Costs are frozen, so drafts are the same in every run.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/programs/run_program.h"
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
  for (const std::string model : kArchitectures) {
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

JsonValue SpeculationOnPhone(std::vector<std::string> flags) {
  for (const char* flag : {"--device=8gen3:static", "--context=256", "--prompt=a a a a a a a a", "--n_predict=40", "--seed=7"}) {
    flags.push_back(flag);
  }
  return *Json(Generate("llama", flags).output).Object("timings")->Object("speculation");
}

// On a phone's clock a pass with drafts takes no less than one without, so no measured gain is more than the tokens of a pass, by frozen
// costs of another machine, too. A gain that is foreseen for texts that share a pass is an estimate, near the tokens of a pass.
TEST(SpeculationSummary, NoGainIsMoreThanTheTokensOfAPass) {
  const JsonValue frozen = SpeculationOnPhone({"--temperature=0", "--cost_profile=" + FreeRows()});
  const JsonValue gain = *frozen.Value("gain");
  EXPECT_TRUE(gain.is_null() || *gain.AsDouble() <= 1.001 * *frozen.Double("tokens_per_pass")) << "null: no pass was without draft";
  const JsonValue together = SpeculationOnPhone({"--temperature=0.5", "--answers=4"});
  const double tokens = *together.Double("predicted_tokens") / static_cast<double>(*together.Int("passes"));
  EXPECT_LE(*together.Double("predicted_gain"), 1.5 * tokens) << "a text's share of a pass beside a whole pass would be about four";
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
