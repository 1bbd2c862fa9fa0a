#include "tessera/apps/bench/spec/evaluation_sets.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

TEST(EvaluationSets, TheProgramHasTheRecordsOfTheSourceTree) {
  const std::string folder = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    const std::string name = entry.path().filename().string();
    const EvaluationFile built_in = Must(ReadEvaluationFile("", name)), read = Must(ReadEvaluationFile(folder, name));
    EXPECT_EQ(built_in.text, read.text) << name;
    EXPECT_EQ(built_in.source, "the built-in " + name);
    EXPECT_EQ(read.source, folder + "/" + name);
    ++files;
  }
  EXPECT_EQ(files, 10);
}

TEST(EvaluationSets, AFileThatIsNotBuiltInNeedsAFolder) {
  const absl::Status status = ReadEvaluationFile("", "triviaqa.jsonl").status();
  EXPECT_TRUE(IsWrongUsage(status)) << status;
  EXPECT_EQ(FieldOf(status), "data");
  EXPECT_FALSE(ReadEvaluationFile("/no such folder", "gsm8k_test.jsonl").ok());
}

}  // namespace
}  // namespace tessera
