// Settings of runs: models and scorers are known by what they hold.
#include "tessera/apps/lab/scale/grid/run_settings.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/sha256.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

TEST(RunSettings, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = TinyPath("llama"), head = folder.Path("a.safetensors");
  const ModelHash model = Must(HashOfParts("model", path));
  EXPECT_EQ(ModelSettings(model), "llama.gguf, sha256 " + Must(Sha256OfFile(path)).Hex());
  std::ofstream(head) << "123456789";
  const std::string scorer = Must(ScorerSettings("reward:" + head));
  EXPECT_EQ(scorer, "reward a.safetensors, crc32c e3069283") << "the check value of CRC-32C, RFC 3720";
  EXPECT_EQ(ScoreSettings({.task = "gsm8k", .problems_sha256 = "h", .file = "samples.jsonl", .model = "m", .form = "chatml",
                           .scorer = scorer, .steps = "last"}),
            "score, gsm8k, problems sha256 h, samples.jsonl, m, chatml, " + scorer + ", steps last");
}

TEST(RunSettings, AScorerIsKnownByItsFilesContent) {
  const TemporaryFolder folder;
  const std::string question = folder.Path("question");
  std::ofstream(question) << "Is {answer} right?";
  const std::string before = Must(ScorerSettings("judge:" + question));
  EXPECT_EQ(Must(ScorerSettings("judge:" + question)), before);
  std::ofstream(question) << "Is {answer} wrong?";
  EXPECT_NE(Must(ScorerSettings("judge:" + question)), before);
  EXPECT_EQ(Must(ScorerSettings("judge")), "judge");
  EXPECT_EQ(Must(ScorerSettings("self_certainty")), "self_certainty");
  EXPECT_TRUE(absl::StrContains(ScorerSettings("reward:/nowhere").status().message(), "/nowhere: cannot open"));
  EXPECT_FALSE(ScorerSettings("mood").ok());
}

TEST(RunSettings, EachPartOfASplitModelCounts) {
  const SplitModel model(TinyModelBuilder({}).Split(3));
  const std::string before = Must(HashOfParts("model", model.Path(0))).sha256;
  EXPECT_EQ(Must(HashOfParts("model", model.Path(0))).sha256, before);
  std::string hashes;
  for (const int part : {0, 1, 2}) hashes += Must(Sha256OfFile(model.Path(part))).Hex();
  EXPECT_EQ(before, Sha256Of(hashes).Hex());
  std::fstream part(model.Path(2), std::ios::in | std::ios::out | std::ios::binary);
  part.seekg(-1, std::ios::end);
  const char last = static_cast<char>(part.get() ^ 1);
  part.seekp(-1, std::ios::end);
  part.put(last);
  part.close();
  EXPECT_NE(Must(HashOfParts("model", model.Path(0))).sha256, before);
}

}  // namespace
}  // namespace tessera
