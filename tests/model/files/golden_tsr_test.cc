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

// A change of the bytes is a change of the format: it needs a version, or at least a decision.
TEST_F(GoldenTsr, WhatIsWrittenTodayHasItsBytes) {
  const TemporaryFolder folder;
  TsrWriter writer = Must(TsrWriter::Create(folder.Path("again.tsr"), plan_.contents, Must(TsrReader::Open(path_))->uuid()));
  for (int unit = 0; unit < plan_.layout.units(); ++unit) {
    std::vector<std::byte> bytes(plan_.layout.UnitBytes(unit));
    Must(FillUnit(*gguf_, plan_.layout, unit, absl::MakeSpan(bytes)));
    Must(writer.Append(bytes));
  }
  Must(writer.Finish([](int64_t, int64_t) {}));
  EXPECT_TRUE(Must(ReadFileToString(folder.Path("again.tsr"), 1 << 20)) == Must(ReadFileToString(path_, 1 << 20)));
}

}  // namespace
}  // namespace tessera
