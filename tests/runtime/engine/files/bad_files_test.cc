// Every bad file that is known, loaded as the programs load a model: each is refused, with exactly the words that say where and
// why.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class BadFiles : public testing::Test {
 protected:
  void ExpectRefused(const std::vector<BadFile>& files) {
    WriteBadFiles(files, folder_.path());
    for (const BadFile& file : files) {
      const std::string path = folder_.Path(file.name + ".gguf");
      EXPECT_EQ(std::string(Engine::Load({.model_path = path, .compute = {.threads = 1}}).status().message()),
                absl::StrCat(path, ": ", file.message));
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(BadFiles, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const auto& files : {BadGgufFiles(), BadModelFiles()}) {
    for (const BadFile& file : files) EXPECT_TRUE(names.insert(file.name).second) << file.name << " a second time";
  }
  EXPECT_GE(names.size(), 300u);
  RecordProperty("files", static_cast<int>(names.size()));
  std::cout << names.size() << " bad files\n";
}

TEST_F(BadFiles, TheFilesThatAreSpoiledLoad) {
  WriteBadFiles({{"llama", TinyModelBuilder({}).Build(), ""}, {"sentence-piece", SentencePieceModel().Build(), ""}}, folder_.path());
  for (const std::string name : {"llama", "sentence-piece"}) {
    const absl::Status status = Engine::Load({.model_path = folder_.Path(name + ".gguf"), .compute = {.threads = 1}}).status();
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(BadFiles, NoGgufFileIsSaidWhereAndWhy) { ExpectRefused(BadGgufFiles()); }

TEST_F(BadFiles, NoModelIsSaidWhereAndWhy) { ExpectRefused(BadModelFiles()); }

// Only what is absent, computed from several values, or a whole tensor that nothing reads, lies at no byte.
TEST_F(BadFiles, EachValueThatIsInTheFileIsSaidWithItsByte) {
  for (const BadFile& file : BadModelFiles()) {
    bool no_one_value = false;
    for (const char* words : {"found no such key", ": missing, ", "found none", "found no <", "frequency of pair", "found a tensor"}) {
      no_one_value |= absl::StrContains(file.message, words);
    }
    EXPECT_NE(absl::StrContains(file.message, " at byte "), no_one_value) << file.name << ": " << file.message;
  }
}

}  // namespace
}  // namespace tessera
