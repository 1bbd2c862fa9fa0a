// tessera_random_model and its parts: shapes, vocabulary, weights.
#include "tessera/apps/bench/models/random_model.h"

#include <cmath>

#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/models/random_vocabulary.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class RandomModels : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // Writes a tiny model; its bytes.
  std::string Make(const std::string& name, std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--shape=tiny", "--out=" + Path(name)});
    const Ended ended = RunProgram("tessera_random_model", arguments);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    absl::StatusOr<std::string> bytes = ReadFileToString(Path(name), 1 << 24);
    return bytes.ok() ? *std::move(bytes) : "";
  }

  const TemporaryFolder folder_;
};

TEST_F(RandomModels, BytesFollowFromTheSeedNotFromTheThreads) {
  const std::string one = Make("one", {"--threads=1"});
  ASSERT_GT(one.size(), 700'000u);
  EXPECT_EQ(Make("three", {"--threads=3"}), one);
  EXPECT_NE(Make("other", {"--seed=1"}), one);
  EXPECT_EQ(Make("one", {"--seed=0"}), one) << "an old file is replaced";
}

// Other readers look at it before they look at tensors.
TEST_F(RandomModels, FilesSayTheTypeOfTheirMatrices) {
  for (const auto& [format, type] : {std::pair("F32", 0u), {"Q4_0", 2u}, {"Q8_0", 7u}, {"Q6_K", 18u}, {"BF16", 32u}}) {
    Make("model", {absl::StrCat("--format=", format)});
    const auto file = *GgufFile::Open(Path("model"));
    EXPECT_EQ(*file->Uint("general.file_type"), type) << format;
    EXPECT_EQ(*file->String("general.type"), "model");
  }
}

TEST_F(RandomModels, EveryFormatIsSoundAndWritesText) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.quantize == nullptr || !info.in_gguf()) continue;
    Make("model", {absl::StrCat("--format=", info.name), "--head_format=Q8_0"});
    EXPECT_LT(*(*GgufFile::Open(Path("model")))->Uint("general.file_type"), 1024u) << info.name << " has no number of its own";
    const Ended verified = RunProgram("tessera_inspect", {"--verify", "--model=" + Path("model")});
    EXPECT_EQ(verified.code, 0) << info.name << verified.output << verified.errors;
    const Ended answer = RunProgram("tessera_generate", {"--raw", "--prompt=a made up word", "--n_predict=8", "--json", "--temperature=0",
                                                         "--model=" + Path("model")});
    ASSERT_EQ(answer.code, 0) << info.name << answer.errors;
    EXPECT_FALSE(JsonValue::Parse(answer.output)->Ints("tokens")->empty()) << info.name;
  }
}

// Each is a sum of `width` products, of a normed activation and a weight of deviation 1 / sqrt(width).
TEST_F(RandomModels, LogitsAreAboutNormal) {
  Make("model", {"--format=F32"});
  const auto engine = *Engine::Load({.model_path = Path("model"), .compute = {.threads = 1}});
  const auto session = *engine->NewSession();
  ASSERT_EQ(session->Append({3, 50, 500, 7}), absl::OkStatus());
  double sum = 0, squares = 0;
  for (float logit : session->logits()) sum += logit, squares += logit * logit;
  const double count = static_cast<double>(session->logits().size());
  EXPECT_NEAR(sum / count, 0, 0.2);
  EXPECT_NEAR(std::sqrt(squares / count), 1, 0.3);
}

TEST_F(RandomModels, ADryRunForetellsTheSizeAndWritesNothing) {
  const Ended dry = RunProgram("tessera_random_model", {"--shape=tiny", "--dry_run", "--json", "--format=Q6_K"});
  ASSERT_EQ(dry.code, 0) << dry.errors;
  EXPECT_EQ(folder_.Files(), 0);
  EXPECT_EQ(*JsonValue::Parse(dry.output)->Int("bytes"), static_cast<int64_t>(Make("model", {"--format=Q6_K"}).size()));
}

TEST_F(RandomModels, ShapesHaveTheParametersTheirNamesSay) {
  const RandomModel small({.shape = *RandomShapeByName("1b")}), large({.shape = *RandomShapeByName("4b")});
  EXPECT_NEAR(static_cast<double>(small.parameters()), 1.04e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(large.parameters()), 4.22e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(*large.FileSize()), 2.38e9, 0.01e9);
}

TEST_F(RandomModels, WrongFlagsAreNamed) {
  const std::string out = "--out=" + Path("model");
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"--out: found none", {"--shape=tiny"}},
      {"--shape: found \"2b\", expected one of 1b, 4b, tiny", {"--shape=2b", out}},
      {"--format: block format \"Q9\"", {"--format=Q9", out}},
      {"--head_format: block format \"Q9\"", {"--head_format=Q9", out}},
      {"--format: found IQ2_XS, which is only read; expected one of F32, F16, ", {"--format=IQ2_XS", out}},
      {"--out: ", {"--shape=tiny", "--out=/nowhere/model"}},
  };
  for (const auto& [message, arguments] : cases) {
    const Ended ended = RunProgram("tessera_random_model", arguments);
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_NE(ended.errors.find(message), std::string::npos) << ended.errors;
  }
  EXPECT_EQ(folder_.Files(), 0);
}

TEST(RandomVocabulary, EveryTextIsOneTokenAndStandsForItself) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("vocabulary.gguf");
  for (int size : {RandomVocabulary::kSmallest, 4000}) {
    const RandomVocabulary vocabulary = MakeRandomVocabulary(size);
    ASSERT_EQ(static_cast<int>(vocabulary.tokens.size()), size);
    EXPECT_EQ(absl::flat_hash_set<std::string>(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(), vocabulary.tokens.size());
    GgufWriter writer;
    vocabulary.PutInto(writer);
    ASSERT_EQ(writer.Write(path, [](int, GgufWriter::Append) { return absl::OkStatus(); }), absl::OkStatus());
    const auto file = *GgufFile::Open(path);
    const auto tokenizer = *ReadTokenizer(*file);
    for (TokenId id = 258; id < size; ++id) {
      EXPECT_EQ(tokenizer->Encode(tokenizer->Piece(id), {}), std::vector<TokenId>{id}) << tokenizer->Piece(id);
    }
  }
}

}  // namespace
}  // namespace tessera
