#include "tessera/runtime/draft/low_bit_copy.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

class LowBitCopies : public testing::Test {
 protected:
  // A model of the test's own, in this format.
  std::string Write(const std::string& name, BlockFormat format, uint64_t seed = 1) const {
    TinyModelBuilder({.formats = {format}, .seed = seed}).WriteTo(folder_.Path(name));
    return folder_.Path(name);
  }

  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
  ThreadPool pool_{2};
};

absl::StatusOr<std::string> PathOfCopy(const std::string& model, ThreadPool& pool) {
  ASSIGN_OR_RETURN(const LowBitCopy copy, LowBitCopy::Of(model, "q3"));
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
  const absl::StatusOr<std::string> path = PathOfCopy(TinyPath("llama"), pool_);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_TRUE(absl::StartsWith(*path, folder_.Path("drafts/llama.q3-"))) << *path;
}

TEST_F(LowBitCopies, AreInTheFormatOfTheirNameAndAHeadInFewBitsStays) {
  const std::pair<const char*, const char*> names[] = {{"q2", "T2"}, {"q3", "T3"}, {"q4", "Q4_0"}};
  for (const auto& [name, format] : names) {
    for (const BlockFormat head : {BlockFormat::kQ4_1, BlockFormat::kF16}) {
      const LowBitCopy copy = Must(LowBitCopy::Of(Write("model.gguf", head), name));
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
  const LowBitCopy first = Must(LowBitCopy::Of(Write("model.gguf", BlockFormat::kQ8_0), "q3"));
  EXPECT_EQ(Must(LowBitCopy::Of(folder_.Path("model.gguf"), "q3")).path(), first.path());
  EXPECT_NE(Must(LowBitCopy::Of(folder_.Path("model.gguf"), "q2")).path(), first.path());
  Write("model.gguf", BlockFormat::kQ8_0, /*seed=*/2);
  const auto later = std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5);
  std::filesystem::last_write_time(folder_.Path("model.gguf"), later);
  EXPECT_NE(Must(LowBitCopy::Of(folder_.Path("model.gguf"), "q3")).path(), first.path());
}

// Two fine-tunings of one model may differ in nothing but numbers, and a copy that keeps times has those of its origin.
TEST_F(LowBitCopies, OfAModelWithTheSameNameSizeAndTimeAreOthers) {
  const std::string path = Write("model.gguf", BlockFormat::kQ8_0);
  const auto time = std::filesystem::last_write_time(path);
  const auto size = std::filesystem::file_size(path);
  const LowBitCopy first = Must(LowBitCopy::Of(path, "q4"));
  Must(first.Make(pool_));
  Write("model.gguf", BlockFormat::kQ8_0, /*seed=*/2);
  std::filesystem::last_write_time(path, time);
  ASSERT_EQ(std::filesystem::file_size(path), size);
  const LowBitCopy second = Must(LowBitCopy::Of(path, "q4"));
  EXPECT_NE(second.path(), first.path());
  EXPECT_TRUE(absl::IsNotFound(second.Check())) << second.Check();
}

TEST_F(LowBitCopies, OneOfAnEarlierVersionIsNamedAndNotTaken) {
  const LowBitCopy copy = Must(LowBitCopy::Of(TinyPath("llama"), "q4"));
  Must(copy.Make(pool_));
  const std::string older = folder_.Path("drafts/llama.q4-199520-1869fa1c.tsr");
  std::filesystem::rename(copy.path(), older);
  Program program("tessera_generate", {"--model=" + TinyPath("llama"), "--draft_model=self:q4", "--prompt=a", "--raw", "--n_predict=2"});
  const Ended run = program.Finish("");
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_TRUE(absl::StrContains(run.errors, "this copy is not used and may be removed: " + older)) << run.errors;
  EXPECT_TRUE(copy.Check().ok()) << "it was made";
}

TEST_F(LowBitCopies, AnotherFileInTheirPlaceIsNoCopy) {
  const LowBitCopy copy = Must(LowBitCopy::Of(TinyPath("llama"), "q3"));
  const PackedModel packed(TinyPath("llama"));
  std::filesystem::create_directories(folder_.Path("drafts"));
  std::filesystem::copy_file(packed.path(), copy.path());
  EXPECT_TRUE(absl::IsDataLoss(copy.Check())) << copy.Check();
  EXPECT_TRUE(copy.Make(pool_).ok());
  EXPECT_TRUE(copy.Check().ok()) << copy.Check();
}

TEST_F(LowBitCopies, OfAPackedModelThereAreNone) {
  const PackedModel packed(TinyPath("llama"));
  const absl::Status status = LowBitCopy::Of(packed.path(), "q3").status();
  EXPECT_TRUE(absl::StrContains(status.message(), "expected the GGUF file that it was packed from: self:q3:FILE")) << status;
  EXPECT_TRUE(absl::IsNotFound(LowBitCopy::Of("/nowhere/model.gguf", "q3").status()));
}

}  // namespace
}  // namespace tessera
