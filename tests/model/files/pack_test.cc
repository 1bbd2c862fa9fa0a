#include "tessera/model/files/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/model_file.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/split_model.h"

namespace tessera {
namespace {

absl::StatusOr<TsrSummary> Example(const GgufFile* file, const std::string& path, ThreadPool& pool) {
  ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(*file));
  ASSIGN_OR_RETURN(const TsrSummary summary, PackModel(*file, plan, path, pool, [](PackStage, int64_t done, int64_t total) {}));
  EXPECT_EQ(summary.file_bytes, plan.file_bytes);
  return summary;
}

TEST(PackModel, HeaderExample) {
  const PackedTiny model({});
  ThreadPool pool(2);
  const auto summary = Example(Must(GgufFile::Open(model.gguf())).get(), model.packed(), pool);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(Must(TsrReader::Open(model.packed()))->uuid(), summary->uuid);
}

// The unit in the file has the bytes that loading from GGUF would make.
void ExpectUnitsOf(const std::string& gguf, const std::string& packed) {
  const auto file = Must(GgufFile::Open(gguf));
  const PackPlan plan = Must(PackPlan::Make(*file));
  const auto reader = Must(TsrReader::Open(packed));
  ASSERT_EQ(reader->units(), plan.layout.units());
  for (int unit = 0; unit < reader->units(); ++unit) {
    std::vector<std::byte> expected(plan.layout.UnitBytes(unit)), found(reader->UnitBytes(unit));
    Must(FillUnit(*file, plan.layout, unit, absl::MakeSpan(expected)));
    Must(reader->ReadUnit(unit, absl::MakeSpan(found)));
    EXPECT_TRUE(found == expected) << unit;
  }
}

TEST(PackModel, UnitsHaveTheBytesOfFillUnit) {
  for (const char* architecture : kArchitectures) {
    const PackedTiny model({.architecture = architecture,
                            .width = 256,
                            .feed_forward = 512,
                            .head_size = 64,
                            .formats = {BlockFormat::kQ4_0, BlockFormat::kQ6_K}});
    ExpectUnitsOf(model.gguf(), model.packed());
  }
}

TEST(PackModel, RealModelsDoToo) {
  const TemporaryFolder folder;
  for (const char* name : {"smollm2", "gemma3"}) {
    const std::string path = RealModelPath(name);
    ASSERT_FALSE(path.empty()) << RealModelMissing(name);
    PackFile(path, folder.Path("model.tsr"));
    ExpectUnitsOf(path, folder.Path("model.tsr"));
  }
}

// Factors of rotation belong to the configuration, and a packed file keeps them.
TEST(PackModel, FactorsOfRotationAreKept) {
  const TemporaryFolder folder;
  const std::string gguf = folder.Path("model.gguf"), tsr = folder.Path("model.tsr");
  const float factors[] = {1, 1.5f, 2, 4, 8, 8, 8, 8};
  const std::string bytes(reinterpret_cast<const char*>(factors), sizeof factors);
  TinyModelBuilder({}).Tensor("rope_freqs.weight", {8}, 0, bytes).WriteTo(gguf);
  PackFile(gguf, tsr);
  const ModelConfig config = Must(ReadModelConfig(Must(ModelFile::Open(tsr))->gguf()));
  EXPECT_EQ(config.ropes[0].frequency_factors, std::vector<float>(std::begin(factors), std::end(factors)));
  EXPECT_TRUE(config == Must(ReadModelConfig(*Must(GgufFile::Open(gguf)))));

  TsrContents contents = Must(PackPlan::Make(*Must(GgufFile::Open(gguf)))).contents;
  const auto message = [&] {
    TsrWriter writer = Must(TsrWriter::Create(tsr, contents));
    for (const TsrUnit& unit : contents.units) Must(writer.Append(std::vector<std::byte>(unit.bytes)));
    Must(writer.Finish([](int64_t, int64_t) {}));
    const auto opened = ModelFile::Open(tsr);
    return std::string((opened.ok() ? ReadModelConfig((*opened)->gguf()).status() : opened.status()).message());
  };
  EXPECT_EQ(message(), "");
  contents.attachments.back().bytes.resize(28);
  EXPECT_EQ(message(), tsr + ": tensor \"rope_freqs.weight\": found 28 bytes beside the header, expected 32");
  contents.attachments.pop_back();  // As earlier versions packed it.
  EXPECT_EQ(message(), tsr + ": tensor \"rope_freqs.weight\": found its header only, expected its data; pack the model again");
}

TEST(PackModel, ASplitModelBecomesOneFileWithTheSameUnits) {
  const TinyModel tiny{.layers = 3};
  const PackedTiny whole(tiny);
  const SplitModel model(TinyModelBuilder(tiny).Split(3));
  const std::string packed = whole.folder().Path("split.tsr");
  PackFile(model.Path(2), packed);
  ExpectUnitsOf(whole.gguf(), packed);
  const auto file = Must(ModelFile::Open(packed));
  EXPECT_EQ(file->gguf().parts(), 3);
  EXPECT_TRUE(file->PlanWeights(Must(ReadModelConfig(file->gguf())), WeightEncoding::kPacked).ok());
}

// More units than buffers, and threads that finish in any order.
TEST(PackModel, AnyNumberOfThreadsWritesTheSameUnits) {
  const PackedTiny model({.layers = 40});
  for (int threads : {1, 3, 8}) {
    PackFile(model.gguf(), model.packed(), threads);
    ExpectUnitsOf(model.gguf(), model.packed());
  }
}

TEST(PackModel, ProgressGoesThroughBothStagesToTheirEnds) {
  const PackedTiny model({});
  const auto file = Must(GgufFile::Open(model.gguf()));
  ThreadPool pool(2);
  int64_t last[2] = {0, 0}, totals[2] = {-1, -1};
  const PackPlan plan = Must(PackPlan::Make(*file));
  Must(PackModel(*file, plan, model.packed(), pool, [&](PackStage stage, int64_t done, int64_t total) {
    EXPECT_GE(done, last[static_cast<int>(stage)]);
    last[static_cast<int>(stage)] = done;
    totals[static_cast<int>(stage)] = total;
  }));
  EXPECT_EQ(last[0], plan.layout.TotalBytes());
  EXPECT_EQ(last[0], totals[0]);
  EXPECT_EQ(last[1], totals[1]);
}

TEST(PackModel, ANumberThatIsNoneLeavesTheOldFile) {
  const PackedTiny model({});
  const std::string old = Must(ReadFileToString(model.packed(), 1 << 24));
  GgufBuilder builder = TinyModelBuilder({.layers = 30});
  std::vector<float> norm(64, 1.0f);
  norm[5] = std::numeric_limits<float>::infinity();
  builder.RemoveTensor("output_norm.weight");
  builder.Tensor("output_norm.weight", {64}, 0, std::string(reinterpret_cast<const char*>(norm.data()), 256));
  const std::string bad = model.folder().Path("bad.gguf");
  builder.WriteTo(bad);
  const auto file = Must(GgufFile::Open(bad));
  ThreadPool pool(3);
  const absl::Status status =
      PackModel(*file, Must(PackPlan::Make(*file)), model.packed(), pool, [](PackStage, int64_t, int64_t) {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "tensor output_norm.weight: F32 value 5")) << status;
  EXPECT_EQ(Must(ReadFileToString(model.packed(), 1 << 24)), old);
  EXPECT_EQ(model.folder().Files(), 3);
}

}  // namespace
}  // namespace tessera
