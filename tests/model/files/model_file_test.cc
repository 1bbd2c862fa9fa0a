#include "tessera/model/files/model_file.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/packed_model.h"

namespace tessera {
namespace {

absl::StatusOr<int> Example(const std::string& path, ThreadPool& pool) {
  ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(file->gguf()));
  ASSIGN_OR_RETURN(WeightLayout layout, file->PlanWeights(config, WeightEncoding::kPacked));
  ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> weights, file->LoadWeights(layout, pool));
  return weights->units();
}

TEST(ModelFile, HeaderExample) {
  const PackedTiny model({});
  ThreadPool pool(2);
  EXPECT_EQ(Must(Example(model.packed(), pool)), 4);
  EXPECT_EQ(Must(Example(model.gguf(), pool)), 4);
  EXPECT_TRUE(absl::IsNotFound(Example(model.folder().Path("none"), pool).status()));
}

TEST(ModelFile, AKindIsToldByTheFirstBytes) {
  const PackedTiny model({});
  const std::string misnamed = model.folder().Path("packed.gguf");
  ASSERT_EQ(rename(model.packed().c_str(), misnamed.c_str()), 0);
  EXPECT_NE(Must(ModelFile::Open(misnamed))->packed(), nullptr);
  EXPECT_EQ(Must(ModelFile::Open(model.gguf()))->packed(), nullptr);
}

TEST(ModelFile, PackedWeightsAreForTheFastPathOnly) {
  const PackedTiny model({});
  const auto file = Must(ModelFile::Open(model.packed()));
  EXPECT_EQ(file->PlanWeights(Must(ReadModelConfig(file->gguf())), WeightEncoding::kFloat32).status(),
            absl::InvalidArgumentError(model.packed() + ": found packed weights, expected a GGUF file for the reference path"));
}

TEST(ModelFile, WeightsThatAreReadAtOnceHaveTheSameBytes) {
  const PackedTiny model({});
  ThreadPool pool(1);
  std::vector<std::vector<std::byte>> bytes[2];
  for (const auto weights : {ModelFile::Weights::kLater, ModelFile::Weights::kAtOnce}) {
    const auto file = Must(ModelFile::Open(model.packed(), weights));
    const auto source =
        Must(file->LoadWeights(Must(file->PlanWeights(Must(ReadModelConfig(file->gguf())), WeightEncoding::kPacked)), pool));
    for (int unit = 0; unit < source->units(); ++unit) {
      const WeightLease lease = Must(source->Acquire(unit));
      bytes[weights == ModelFile::Weights::kAtOnce].emplace_back(lease.bytes().begin(), lease.bytes().end());
    }
  }
  EXPECT_EQ(bytes[0].size(), 4u);
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

// A .tsr file whose units are another model's: each kind of difference is named.
TEST(ModelFile, UnitsThatDifferFromTheHeaderAreNamed) {
  const PackedTiny model({});
  const auto file = Must(GgufFile::Open(model.gguf()));
  const PackPlan plan = Must(PackPlan::Make(*file));
  const auto message = [&](const std::function<void(TsrContents&)>& change) {
    TsrContents contents = plan.contents;
    change(contents);
    TsrWriter writer = Must(TsrWriter::Create(model.packed(), contents));
    for (const TsrUnit& unit : contents.units) Must(writer.Append(std::vector<std::byte>(unit.bytes)));
    Must(writer.Finish([](int64_t, int64_t) {}));
    const auto opened = ModelFile::Open(model.packed());
    if (!opened.ok()) return std::string(opened.status().message());
    return std::string((*opened)->PlanWeights(Must(ReadModelConfig(*file)), WeightEncoding::kPacked).status().message());
  };
  const std::string path = model.packed() + ": ", end = ", as its GGUF header asks for; pack the model again";
  EXPECT_EQ(message([](TsrContents&) {}), "");
  EXPECT_EQ(message([](TsrContents& c) { c.units.pop_back(); }), path + "units: found 3, expected 4" + end);
  EXPECT_EQ(message([](TsrContents& c) { c.units[1].entries[0].name = "x"; }),
            path + "unit 1 entry 0: found \"x\" of 256 bytes at 0, expected \"blk.0.attn_norm.weight\" of 256 bytes at 0" + end);
  EXPECT_EQ(message([](TsrContents& c) { c.units[1].entries.pop_back(); }).substr(0, path.size() + 50),
            (path + "unit 1 entry 8: found none, expected \"blk.0.ffn_down.weight\"").substr(0, path.size() + 50));
  EXPECT_EQ(message([](TsrContents& c) {
              c.units[3].entries.push_back({"y", c.units[3].bytes, 1}), c.units[3].bytes += 64;
            }),
            path + "unit 3 entry 2: found \"y\" of 1 bytes at " + std::to_string(plan.contents.units[3].bytes) +
                ", expected none" + end);
  EXPECT_EQ(message([](TsrContents& c) { c.units[0].bytes += 64; }),
            absl::StrCat(path, "unit 0 bytes: found ", plan.contents.units[0].bytes + 64, ", expected ",
                         plan.contents.units[0].bytes, end));
  EXPECT_EQ(message([](TsrContents& c) { c.layout = "other"; }),
            path + "layout: found \"other\", expected \"tessera-panels-1\" or \"tessera-tiles-1\"; pack the model again");
  EXPECT_EQ(message([](TsrContents& c) { c.attachments[0].name = "other"; }),
            path + "attachments: found none named \"gguf\", expected a model's GGUF header");
  EXPECT_EQ(message([](TsrContents& c) { c.attachments[0].bytes.resize(3); }),
            path + "magic at byte 0: found 4 bytes, expected metadata and tensor table to end before byte 3");
}

}  // namespace
}  // namespace tessera
