// Files of earlier versions: costs, sessions and histories are used or refused by name (tests/data/older/README.md says who wrote them).
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class OlderFiles : public testing::Test {
 protected:
  OlderFiles() : cache_(folder_.path()) { std::filesystem::create_directory(folder_.Path("history")); }

  std::string Copy(const std::string& file, const std::string& name) const {
    std::filesystem::copy_file(absl::StrCat(TESSERA_SOURCE_DIR, "/tests/data/older/", file), folder_.Path(name));
    return folder_.Path(name);
  }
  static Ended Generate(const std::string& prompt, int tokens, std::vector<std::string> more) {
    more.insert(more.end(), {"--model=" + TinyPath("llama"), "--raw", "--prompt=" + prompt, absl::StrCat("--n_predict=", tokens),
                             "--temperature=0", "--threads=1", "--json"});
    return RunProgram("tessera_generate", more);
  }
  static std::vector<int64_t> TokensOf(const Ended& ended) { return *Json(ended.output).Ints("tokens", 0, 1 << 20); }
  static std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  const TemporaryFolder folder_;
  const CacheFolderFor cache_;
};

TEST_F(OlderFiles, CostsThatAnEarlierVersionMeasuredAreNotMeasuredAgain) {
  const std::string costs = Copy("2026-11-28.costs", "costs"), measured = "\"seconds\": 8.87166e-06";
  ASSERT_TRUE(absl::StrContains(Text(costs), measured));
  const Ended ended = Generate("the in the", 24, {"--cost_profile=" + costs});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(TokensOf(ended), TokensOf(Generate("the in the", 24, {"--speculate=none"})));
  EXPECT_TRUE(absl::StrContains(Text(costs), measured)) << Text(costs);
}

// The tokens are those with which the version that wrote the session went on.
TEST_F(OlderFiles, ASessionContinuesAsInTheVersionThatWroteTheFile) {
  const Ended ended = Generate("in", 4, {"--session=" + Copy("2026-11-29.session", "s"), "--context=64"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(TokensOf(ended), (std::vector<int64_t>{249, 92, 147, 69}));
}

TEST_F(OlderFiles, AHistoryIsReadAndKeepsItsName) {
  const std::string name = "history/h-25d658fd2b9bafd129f9f97d4d8e7270721c2acd4b4bfcb37bf66bf7fa5375b1.history";
  const std::string before = Text(Copy("2026-11-29.history", name));
  const Ended ended = Generate("the in the", 30, {"--history=h", "--context=128"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_FALSE(absl::StrContains(ended.errors, "ignored")) << ended.errors;
  const JsonValue drafted = *Json(ended.output).Object("timings")->Object("speculation");
  EXPECT_LT(*drafted.Int("passes"), 30) << "the answer stands in the history";
  EXPECT_GT(Text(folder_.Path(name)).size(), before.size()) << "the new answer is longer, and is added";
}

TEST_F(OlderFiles, FilesWithoutSha256SumsAreRefusedByNameAndStay) {
  const std::string session = Copy("2026-11-28.session", "s"), was = Text(session);
  const Ended refused = Generate("in", 4, {"--session=" + session, "--context=64"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.output, "");
  EXPECT_TRUE(absl::StrContains(refused.errors, session + ": version: found 1, which knows models and adapters by 64 bits"))
      << refused.errors;
  EXPECT_EQ(Text(session), was);
  const std::string history = Copy("2026-11-28.history", "history/h-e892f03b963a3e0b.history"), had = Text(history);
  const Ended without = Generate("the in the", 4, {"--history=h", "--context=64"});
  EXPECT_EQ(without.code, 0);
  EXPECT_TRUE(absl::StrContains(without.errors, "this history is ignored: " + history + ": version: found 1")) << without.errors;
  EXPECT_EQ(Text(history), had);
}

}  // namespace
}  // namespace tessera
