#include "tessera/runtime/draft/low_bit_copy.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

class LowBitCopies : public testing::Test {
 protected:
  // A model of the test's own, in this format.
  std::string Write(const std::string& name, BlockFormat format, uint64_t seed = 1) const {
    TinyModelBuilder({.formats = {format}, .seed = seed}).WriteTo(folder_.Path(name));
    return folder_.Path(name);
  }

  const TemporaryFolder folder_;
  ThreadPool pool_{2};
};

absl::StatusOr<std::string> PathOfCopy(const std::string& model, const std::string& cache_folder, ThreadPool& pool) {
  ASSIGN_OR_RETURN(const LowBitCopy copy, LowBitCopy::Of(model, "q3", cache_folder));
  absl::Status there = copy.Check();
  EXPECT_TRUE(absl::IsNotFound(there)) << there;
  if (!there.ok()) RETURN_IF_ERROR(copy.Make(pool));
  EngineOptions options;
  options.model_path = copy.path();
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  EXPECT_EQ(engine->model().weight_bytes(), Must(copy.WeightBytes()));
  return copy.path();
}

TEST_F(LowBitCopies, HeaderExample) {
  const absl::StatusOr<std::string> path = PathOfCopy(kLlama, folder_.path(), pool_);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_TRUE(absl::StartsWith(*path, folder_.Path("drafts/llama.q3-"))) << *path;
}

TEST_F(LowBitCopies, AreInTheFormatOfTheirNameAndAHeadInFewBitsStays) {
  const std::pair<const char*, const char*> names[] = {{"q2", "T2"}, {"q3", "T3"}, {"q4", "Q4_0"}};
  for (const auto& [name, format] : names) {
    for (const BlockFormat head : {BlockFormat::kQ4_1, BlockFormat::kF16}) {
      const LowBitCopy copy = Must(LowBitCopy::Of(Write("model.gguf", head), name, folder_.path()));
      EXPECT_TRUE(copy.Make(pool_).ok());
      EXPECT_TRUE(copy.Check().ok()) << copy.Check();
      const WeightRecipe recipe = Must(ModelFile::Open(copy.path()))->recipe();
      EXPECT_EQ(InfoOf(recipe.FormOf("blk.0.ffn_up.weight", false, head, 512).format).name, std::string(format));
      EXPECT_EQ(recipe.FormOf("output.weight", false, head, 512).format, head == BlockFormat::kF16 ? BlockFormat::kQ4_0 : head);
      EXPECT_EQ(recipe.FormOf("token_embd.weight", false, head, 512).format, head == BlockFormat::kF16 ? BlockFormat::kQ4_0 : head);
    }
  }
}

TEST_F(LowBitCopies, OfAnotherModelUnderTheSameNameAreOthers) {
  const LowBitCopy first = Must(LowBitCopy::Of(Write("model.gguf", BlockFormat::kQ8_0), "q3", folder_.path()));
  EXPECT_EQ(Must(LowBitCopy::Of(folder_.Path("model.gguf"), "q3", folder_.path())).path(), first.path());
  EXPECT_NE(Must(LowBitCopy::Of(folder_.Path("model.gguf"), "q2", folder_.path())).path(), first.path());
  Write("model.gguf", BlockFormat::kQ8_0, /*seed=*/2);
  const auto later = std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5);
  std::filesystem::last_write_time(folder_.Path("model.gguf"), later);
  EXPECT_NE(Must(LowBitCopy::Of(folder_.Path("model.gguf"), "q3", folder_.path())).path(), first.path());
}

// Two fine-tunings of one model may differ in nothing but numbers, and a copy that keeps times has those of its origin.
TEST_F(LowBitCopies, OfAModelWithTheSameNameSizeAndTimeAreOthers) {
  const std::string path = Write("model.gguf", BlockFormat::kQ8_0);
  const auto time = std::filesystem::last_write_time(path);
  const auto size = std::filesystem::file_size(path);
  const LowBitCopy first = Must(LowBitCopy::Of(path, "q4", folder_.path()));
  Must(first.Make(pool_));
  Write("model.gguf", BlockFormat::kQ8_0, /*seed=*/2);
  std::filesystem::last_write_time(path, time);
  ASSERT_EQ(std::filesystem::file_size(path), size);
  const LowBitCopy second = Must(LowBitCopy::Of(path, "q4", folder_.path()));
  EXPECT_NE(second.path(), first.path());
  EXPECT_TRUE(absl::IsNotFound(second.Check())) << second.Check();
}

TEST_F(LowBitCopies, OneOfAnEarlierVersionIsNamedAndNotTaken) {
  const LowBitCopy copy = Must(LowBitCopy::Of(kLlama, "q4", folder_.path()));
  Must(copy.Make(pool_));
  const std::string older = folder_.Path("drafts/llama.q4-199520-1869fa1c.tsr");
  std::filesystem::rename(copy.path(), older);
  std::vector<std::string> warnings;
  Must(copy.Prepare(pool_, {.on_warning = [&](const std::string& warning) { warnings.push_back(warning); }}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(warnings[0], "this copy is not used and may be removed: " + older)) << warnings[0];
  EXPECT_TRUE(copy.Check().ok()) << "it was made";
}

// Nothing is said of a copy that is there, and the function for progress goes before Make returns.
TEST_F(LowBitCopies, TheCallerIsToldOfTheMaking) {
  const LowBitCopy copy = Must(LowBitCopy::Of(kLlama, "q4", folder_.path()));
  std::vector<std::string> notes, warnings;
  int64_t packed = 0, verified = 0;
  std::weak_ptr<int> progress;
  DraftMessages messages;
  messages.on_note = [&](const std::string& note) { notes.push_back(note); };
  messages.on_warning = [&](const std::string& warning) { warnings.push_back(warning); };
  messages.new_progress = [&] {
    const auto shown = std::make_shared<int>();
    progress = shown;
    return [&, shown](PackStage stage, int64_t done, int64_t total) {
      EXPECT_LE(done, total);
      (stage == PackStage::kPacking ? packed : verified) = done;
    };
  };
  Must(copy.Prepare(pool_, messages));
  Must(copy.Prepare(pool_, messages));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(notes[0], absl::StrCat("Making a copy of ", kLlama, " to draft with (Q4_0"))) << notes[0];
  EXPECT_TRUE(absl::EndsWith(notes[0], absl::StrCat("), once: ", copy.path()))) << notes[0];
  EXPECT_GT(packed, 0);
  EXPECT_GT(verified, 0);
  EXPECT_TRUE(progress.expired());
  EXPECT_TRUE(warnings.empty());
  std::filesystem::resize_file(copy.path(), 100);
  Must(copy.Prepare(pool_, messages));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(warnings[0], "this copy is made again: ")) << warnings[0];
}

TEST_F(LowBitCopies, WithoutAFolderThereAreNone) {
  const absl::Status status = LowBitCopy::Of(kLlama, "q3", "").status();
  EXPECT_EQ(FieldOf(status), "cache_folder") << status;
}

TEST_F(LowBitCopies, AnotherFileInTheirPlaceIsNoCopy) {
  const LowBitCopy copy = Must(LowBitCopy::Of(kLlama, "q3", folder_.path()));
  const PackedModel packed(kLlama);
  std::filesystem::create_directories(folder_.Path("drafts"));
  std::filesystem::copy_file(packed.path(), copy.path());
  EXPECT_TRUE(absl::IsDataLoss(copy.Check())) << copy.Check();
  EXPECT_TRUE(copy.Make(pool_).ok());
  EXPECT_TRUE(copy.Check().ok()) << copy.Check();
}

TEST_F(LowBitCopies, OfAPackedModelThereAreNone) {
  const PackedModel packed(kLlama);
  const absl::Status status = LowBitCopy::Of(packed.path(), "q3", folder_.path()).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "expected the GGUF file that it was packed from: self:q3:FILE")) << status;
  EXPECT_TRUE(absl::IsNotFound(LowBitCopy::Of("/nowhere/model.gguf", "q3", folder_.path()).status()));
}

}  // namespace
}  // namespace tessera
