// Programs that stream a model: what they write is what they write with all of it in memory, and a file that changes ends them in order.
#include <gtest/gtest.h>

#include <fstream>

#include "tessera/base/json.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/real_models.h"

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
