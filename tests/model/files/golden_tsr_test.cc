// Packed files of each version, kept for good: what was packed once can be read by every later build.
//
// tests/golden/tsr/llama.tsr is version 1.0, made by `build/bin/tessera_pack tests/golden/tiny/llama.gguf
// tests/golden/tsr/llama.tsr`.
#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/model/files/model_file.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/packed_model.h"

namespace tessera {
namespace {

class GoldenTsr : public testing::Test {
 protected:
  const std::string path_ = GoldenPath("tsr/llama.tsr");
  const std::unique_ptr<GgufFile> gguf_ = Must(GgufFile::Open(GoldenPath("tiny/llama.gguf")));
  const PackPlan plan_ = Must(PackPlan::Make(*gguf_));
};

TEST_F(GoldenTsr, Version1IsReadAndHasTheWeightsOfItsGgufFile) {
  const auto file = Must(ModelFile::Open(path_));
  ASSERT_NE(file->packed(), nullptr);
  ThreadPool pool(2);
  const auto weights =
      Must(file->LoadWeights(Must(file->PlanWeights(Must(ReadModelConfig(file->gguf())), WeightEncoding::kPacked)), pool));
  ASSERT_EQ(weights->units(), plan_.layout.units());
  for (int unit = 0; unit < weights->units(); ++unit) {
    std::vector<std::byte> expected(plan_.layout.UnitBytes(unit));
    Must(FillUnit(*gguf_, plan_.layout, unit, absl::MakeSpan(expected)));
    EXPECT_TRUE(Must(weights->Acquire(unit)).bytes() == absl::MakeConstSpan(expected)) << unit;
  }
}

// Without the manifests and the superblocks, which are of version 1.1.
std::string Extents(const std::string& bytes) { return bytes.substr(2 * kTsrPage, bytes.size() - 4 * kTsrPage); }

// A change of the bytes is a change of the format: it needs a version, or at least a decision. 1.1 has sums of blocks in its manifest.
TEST_F(GoldenTsr, TodaysWriterGivesTheGoldenBytesExceptForSums) {
  const TemporaryFolder folder;
  const std::string again = folder.Path("again.tsr");
  TsrWriter writer = Must(TsrWriter::Create(again, plan_.contents, Must(TsrReader::Open(path_))->uuid()));
  for (int unit = 0; unit < plan_.layout.units(); ++unit) {
    std::vector<std::byte> bytes(plan_.layout.UnitBytes(unit));
    Must(FillUnit(*gguf_, plan_.layout, unit, absl::MakeSpan(bytes)));
    Must(writer.Append(bytes));
  }
  Must(writer.Finish([](int64_t, int64_t) {}));
  EXPECT_TRUE(Extents(Must(ReadFileToString(again, 1 << 20))) == Extents(Must(ReadFileToString(path_, 1 << 20))));
  const auto written = Must(TsrReader::Open(again)), kept = Must(TsrReader::Open(path_));
  EXPECT_EQ(written->units(), kept->units());
  for (int unit = 0; unit < kept->units(); ++unit) {
    EXPECT_EQ(written->UnitOffset(unit), kept->UnitOffset(unit));
    EXPECT_EQ(written->UnitBytes(unit), kept->UnitBytes(unit));
    EXPECT_EQ(written->Entries(unit), kept->Entries(unit));
  }
  EXPECT_EQ(written->layout(), kept->layout());
  EXPECT_EQ(static_cast<int64_t>(written->block_sums().size()), kept->blocks());
  EXPECT_TRUE(kept->block_sums().empty());
  EXPECT_EQ(kept->minor_version(), 0);
  EXPECT_EQ(written->minor_version(), 1);
}

}  // namespace
}  // namespace tessera
