#include "tessera/model/files/weights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/loaded_weights.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using F = BlockFormat;
constexpr uint32_t kGgufQ2K = 10;

absl::StatusOr<WeightLayout> Plan(const GgufFile& file, WeightEncoding encoding = WeightEncoding::kPacked,
                                  int64_t largest_unit = kLargestUnitBytes) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  return WeightLayout::Plan(file, config, encoding, {}, largest_unit);
}

// A tiny model's bytes and the file over them.
struct TinyFile {
  explicit TinyFile(GgufBuilder builder) : bytes(builder.Build()) {
    file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  }
  std::string bytes;
  std::unique_ptr<GgufFile> file;
};

TEST(WeightLayout, HeaderExample) {
  const TinyFile tiny(TinyModelBuilder({}));
  const GgufFile* file = tiny.file.get();
  ThreadPool pool(2);
  int used = 0;
  const auto Use = [&](int unit, int64_t offset) {
    ++used;
    EXPECT_EQ(unit, 1);  // After the embedding table.
    EXPECT_EQ(offset % 64, 0);
  };
  const auto run = [&]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(*file));
    ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*file, config, WeightEncoding::kPacked));
    for (const TensorPart& part : layout.Parts("blk.0.ffn_up.weight")) Use(part.unit, part.offset);
    ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, LoadResident(*file, layout, pool));
    return source->units();
  };
  EXPECT_EQ(Must(run()), 4);  // Table, two layers, head.
  EXPECT_EQ(used, 1);
}

// Units in the order of a pass: a layer's hold nothing of another layer, and a tied table comes last.
TEST(WeightLayout, UnitsFollowTheOrderOfAPass) {
  for (const bool tied : {false, true}) {
    const TinyFile tiny(TinyModelBuilder({.layers = 3, .tied = tied}));
    const WeightLayout layout = Must(Plan(*tiny.file));
    const auto unit = [&](const char* name) { return layout.Parts(name)[0].unit; };
    EXPECT_EQ(layout.units(), tied ? 4 : 5);
    EXPECT_EQ(unit("token_embd.weight"), tied ? 3 : 0);
    EXPECT_EQ(unit("blk.0.attn_norm.weight"), tied ? 0 : 1);
    EXPECT_EQ(unit("blk.0.ffn_down.weight"), tied ? 0 : 1);
    EXPECT_EQ(unit("blk.2.attn_q.weight"), tied ? 2 : 3);
    EXPECT_EQ(unit("output_norm.weight"), tied ? 3 : 4);
    EXPECT_TRUE(layout.Parts("blk.3.attn_q.weight").empty());
    EXPECT_EQ(layout.Parts("output.weight").empty(), tied);
  }
}

// Every tensor's rows are covered once, in order, and no two parts share bytes.
void ExpectWhole(const GgufFile& file, const WeightLayout& layout, int64_t largest_unit) {
  for (const GgufTensor& tensor : file.tensors()) {
    int64_t row = 0;
    for (const TensorPart& part : layout.Parts(tensor.name)) {
      EXPECT_EQ(part.first_row, row) << tensor.name;
      EXPECT_EQ(part.first_row % 32, 0) << tensor.name;
      row += part.weight.spec.out_features;
    }
    EXPECT_EQ(row, tensor.shape.size() == 1 ? 1 : tensor.shape[1]) << tensor.name;
  }
  int64_t total = 0;
  for (int unit = 0; unit < layout.units(); ++unit) {
    int64_t end = 0;
    const std::vector<WeightLayout::Placed> placed = layout.PartsOfUnit(unit);
    for (const auto& [name, part] : placed) {
      EXPECT_EQ(part->unit, unit);
      EXPECT_EQ(part->offset % 64, 0) << *name;
      EXPECT_GE(part->offset, end) << *name;
      end = part->offset + part->bytes;
      EXPECT_EQ(part->bytes, Must(WeightBytes(part->weight, layout.encoding()))) << *name;
    }
    EXPECT_LE(end, layout.UnitBytes(unit));
    const bool small = placed.size() == 1 && placed[0].part->weight.spec.out_features <= 32;
    EXPECT_TRUE(layout.UnitBytes(unit) <= largest_unit || small) << layout.UnitBytes(unit);
    total += layout.UnitBytes(unit);
  }
  EXPECT_EQ(layout.TotalBytes(), total);
}

TEST(WeightLayout, UnitsHoldEveryRowOnceAndAreNoLargerThanAsked) {
  const TinyFile tiny(TinyModelBuilder({.architecture = "gemma3", .layers = 2, .window = 6, .formats = {F::kQ4_1, F::kF16, F::kQ8_0}}));
  for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
    for (const int64_t largest_unit : {int64_t{1}, int64_t{3000}, int64_t{10'000}, kLargestUnitBytes}) {
      SCOPED_TRACE(largest_unit);
      ExpectWhole(*tiny.file, Must(Plan(*tiny.file, encoding, largest_unit)), largest_unit);
    }
  }
}

TEST(WeightLayout, ABiasOfTheHeadIsCutWhereTheHeadIs) {
  for (const bool tied : {false, true}) {
    const TinyFile tiny(TinyModelBuilder({.architecture = "qwen2", .tied = tied, .formats = {F::kQ4_0}, .biases = {"output.bias"}}));
    for (const int64_t largest_unit : {int64_t{1}, int64_t{3000}, int64_t{5000}, int64_t{10'000}, kLargestUnitBytes}) {
      SCOPED_TRACE(largest_unit);
      const WeightLayout layout = Must(Plan(*tiny.file, WeightEncoding::kPacked, largest_unit));
      const auto head = layout.Parts(tied ? "token_embd.weight" : "output.weight"), bias = layout.Parts("output.bias");
      ASSERT_EQ(head.size(), bias.size());
      for (size_t i = 0; i < bias.size(); ++i) {
        EXPECT_EQ(bias[i].first_row, head[i].first_row);
        EXPECT_EQ(bias[i].weight.spec.in_features, head[i].weight.spec.out_features);
        EXPECT_EQ(bias[i].unit - head[i].unit, largest_unit == 1 ? 1 : 0);  // Beside each other, if a unit can hold both.
        EXPECT_TRUE(i == 0 || bias[i].unit > bias[i - 1].unit);             // A unit's entries have names of their own.
      }
      for (int unit = 0; unit < layout.units(); ++unit) {
        EXPECT_TRUE(layout.UnitBytes(unit) <= largest_unit || largest_unit == 1) << unit;
      }
    }
  }
}

TEST(WeightLayout, RealModelsHaveUnitsOf16MiBAtMost) {
  for (const char* name : {"smollm2", "gemma3"}) {
    const std::string path = RealModelPath(name);
    if (path.empty()) FAIL() << RealModelMissing(name);
    const auto file = Must(GgufFile::Open(path));
    for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
      ExpectWhole(*file, Must(Plan(*file, encoding)), int64_t{16} << 20);
    }
  }
}

// A lawful file of 2-bit blocks, whose matrices of attention have 2^20 x `queries` weights each. Its data is not there, and not
// read.
std::string GiantHeader(ModelConfig& config, int queries) {
  config.width = 1 << 20;
  config.feed_forward = 256;
  config.vocabulary = 1;
  config.heads = config.kv_heads = 1 << 9;
  config.head_size = queries / config.heads;
  config.tied_head = true;
  config.layers.resize(1);
  GgufBuilder builder;
  uint64_t offset = 0;
  std::vector<TensorNeed> needs = LayerNeeds(config, 0);
  needs.push_back(EmbeddingNeed(config));
  needs.push_back(OutputNormNeed(config));
  for (const TensorNeed& need : needs) {
    const auto rows = static_cast<uint64_t>(need.rows), columns = static_cast<uint64_t>(need.columns);
    builder.Tensor(need.name, need.vector ? std::vector{columns} : std::vector{columns, rows}, need.vector ? 0 : kGgufQ2K, "");
    builder.Corrupt<uint64_t>(absl::StrCat("tensor ", need.name, " offset"), offset);
    offset += (need.vector ? columns * 4 : rows * columns / 256 * 84) / 32 * 32 + 32;
  }
  return builder.Build();
}

// A plan has an entry for each unit: one of petabytes would take gigabytes.
TEST(WeightLayout, MoreThan4TebibytesAreRefusedBeforeCutting) {
  const auto plan = [](int queries) {
    ModelConfig config;
    const std::string header = GiantHeader(config, queries);
    const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(header.data()), size_t{1} << 60}, "m.gguf"));
    return WeightLayout::Plan(*file, config, WeightEncoding::kFloat32);
  };
  constexpr int64_t kTebibyte = int64_t{1} << 40, kNorm = 4 << 20;
  const WeightLayout largest = Must(plan((1 << 18) - 1024));  // The rest is that of the feed-forward part.
  EXPECT_GT(largest.TotalBytes(), int64_t{4'080} << 30);
  EXPECT_LE(largest.TotalBytes(), 4 * kTebibyte);
  EXPECT_EQ(plan(1 << 18).status(),
            absl::InvalidArgumentError(absl::StrCat("m.gguf: tensor blk.0.attn_output.weight: size as loaded: found ", kTebibyte,
                                                    " bytes after ", 3 * kTebibyte + kNorm,
                                                    " of the tensors before it, expected at most ", 4 * kTebibyte, " in all")));
  EXPECT_EQ(plan(1 << 30).status(),
            absl::InvalidArgumentError(absl::StrCat("m.gguf: tensor blk.0.attn_q.weight: size as loaded: found ", 4096 * kTebibyte,
                                                    " bytes after ", kNorm, " of the tensors before it, expected at most ",
                                                    4 * kTebibyte, " in all")));
}

TEST(WeightLayout, AMissingTensorIsNamed) {
  const TinyFile tiny(TinyModelBuilder({.without = {"blk.1.attn_v.weight"}}));
  const absl::Status status = Plan(*tiny.file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "tiny: tensor blk.1.attn_v.weight: missing, expected 32 x 64");
}

TEST(WeightLayout, AWrongShapeIsNamed) {
  GgufBuilder matrix = TinyModelBuilder({});
  matrix.Corrupt<uint64_t>("tensor blk.0.ffn_up.weight ne1", 95);
  matrix.Build();
  EXPECT_EQ(Plan(*TinyFile(matrix).file).status().message(),
            absl::StrCat("tiny: tensor blk.0.ffn_up.weight: shape at byte ", matrix.OffsetOf("tensor blk.0.ffn_up.weight n_dims"),
                         ": found [64, 95], expected [64, 96]"));
  GgufBuilder vector = TinyModelBuilder({});
  vector.Corrupt<uint64_t>("tensor output_norm.weight ne0", 32);
  vector.Build();
  EXPECT_EQ(Plan(*TinyFile(vector).file).status().message(),
            absl::StrCat("tiny: tensor output_norm.weight: shape at byte ", vector.OffsetOf("tensor output_norm.weight n_dims"),
                         ": found [32], expected [64]"));
}

// A matrix in parts, put together again, holds the numbers of the file.
TEST(FillUnit, PartsHoldTheNumbersOfTheFile) {
  const TinyFile tiny(TinyModelBuilder({.formats = {F::kQ4_0, F::kQ8_0, F::kQ4_1}}));
  for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
    const WeightLayout layout = Must(Plan(*tiny.file, encoding, 5000));
    EXPECT_GT(layout.Parts("output.weight").size(), 2u);
    ThreadPool pool(2);
    const auto source = Must(LoadResident(*tiny.file, layout, pool));
    for (const GgufTensor& tensor : tiny.file->tensors()) {
      const int64_t columns = tensor.shape[0];
      std::vector<float> expected(columns * (tensor.shape.size() == 1 ? 1 : tensor.shape[1]));
      std::vector<std::byte> blocks(tensor.size);
      Must(tiny.file->Read(tensor, 0, absl::MakeSpan(blocks)));
      tensor.format->dequantize(blocks.data(), static_cast<int64_t>(expected.size()), expected.data());
      std::vector<float> found(expected.size());
      for (const TensorPart& part : layout.Parts(tensor.name)) {
        const WeightLease lease = Must(source->Acquire(part.unit));
        const absl::Span<const std::byte> bytes = lease.bytes().subspan(part.offset, part.bytes);
        const bool packed = encoding == WeightEncoding::kPacked && !part.weight.vector;
        for (int64_t row = 0; row < part.weight.spec.out_features; ++row) {
          float* out = found.data() + (part.first_row + row) * columns;
          if (packed) Must(PackedMatrix::Open(part.weight.spec, bytes)).ReadRow(row, out);
          if (!packed) std::memcpy(out, bytes.data() + row * columns * sizeof(float), columns * sizeof(float));
        }
      }
      EXPECT_EQ(found, expected) << tensor.name;
    }
  }
}

// However the table is cut, and for a vocabulary that is no multiple of 32.
// Parts of a vector may begin and end within its blocks.
TEST(FillUnit, PartsOfAVectorInLargeBlocksHoldItsNumbers) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "qwen2", .without = {"token_embd.weight", "output.weight"}});
  for (const char* name : {"token_embd.weight", "output.weight"}) builder.Tensor(name, {64, 512}, 1, std::string(64 * 512 * 2, '\0'));
  const std::vector<std::byte> blocks = RandomBlocks(F::kQ6_K, 512, /*seed=*/5, /*scale=*/1);
  builder.Tensor("output.bias", {512}, 14, std::string(reinterpret_cast<const char*>(blocks.data()), blocks.size()));
  std::vector<float> expected(512);
  InfoOf(F::kQ6_K).dequantize(blocks.data(), 512, expected.data());
  const LoadedWeights model(builder, WeightEncoding::kPacked, /*largest_unit=*/14'000);
  const std::vector<std::vector<std::byte>> units = model.Units();
  const auto parts = model.layout().Parts("output.bias");
  ASSERT_EQ(parts[1].first_row, 96);
  std::vector<float> found;
  for (const TensorPart& part : parts) {
    const float* numbers = reinterpret_cast<const float*>(units[part.unit].data() + part.offset);
    found.insert(found.end(), numbers, numbers + part.weight.spec.in_features);
  }
  EXPECT_EQ(found, expected);
}

TEST(WeightLayout, EveryRowLiesInAPanelThatCanBeReadAlone) {
  for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
    const LoadedWeights whole(TinyModelBuilder({}), WeightEncoding::kFloat32), cut(TinyModelBuilder({}), encoding, /*largest_unit=*/5000);
    const std::string table = EmbeddingNeed(cut.config()).name;
    const std::vector<std::vector<std::byte>> units = cut.Units(), all = whole.Units();
    const int64_t width = cut.config().width;
    for (int64_t row = 0; row < kTinyVocabulary; ++row) {
      const TensorPart panel = cut.layout().PanelOf(table, row), first = whole.layout().Parts(table)[0];
      EXPECT_EQ(panel.first_row, row / 32 * 32);
      EXPECT_EQ(panel.weight.spec.out_features, std::min<int64_t>(32, kTinyVocabulary - panel.first_row));
      const auto bytes = absl::MakeConstSpan(units[panel.unit]).subspan(panel.offset, panel.bytes);
      std::vector<float> values(width), expected(width);
      std::memcpy(expected.data(), all[first.unit].data() + first.offset + row * width * 4, width * 4);
      if (encoding == WeightEncoding::kPacked) {
        AlignedBuffer aligned = Must(AlignedBuffer::Allocate(panel.bytes));
        std::copy(bytes.begin(), bytes.end(), aligned.data());
        Must(PackedMatrix::Open(panel.weight.spec, aligned.bytes())).ReadRow(row - panel.first_row, values.data());
      } else {
        std::memcpy(values.data(), bytes.data() + (row - panel.first_row) * width * 4, width * 4);
      }
      EXPECT_EQ(values, expected) << row;
    }
  }
}

TEST(LoadResident, ThreadsMakeNoDifference) {
  const LoadedWeights model(TinyModelBuilder({.layers = 3}));
  const std::vector<std::vector<std::byte>> units = model.Units();
  ThreadPool pool(3);
  const auto source = Must(LoadResident(model.file(), model.layout(), pool));
  ASSERT_EQ(source->units(), static_cast<int>(units.size()));
  for (int unit = 0; unit < source->units(); ++unit) {
    const WeightLease lease = Must(source->Acquire(unit));
    EXPECT_TRUE(std::equal(units[unit].begin(), units[unit].end(), lease.bytes().begin())) << unit;
  }
}

// What happens to its names and attributes is nothing to a file; what is written to it is.
TEST(LoadResident, AFileThatIsWrittenToMeanwhileIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("tiny.gguf");
  ThreadPool pool(2);
  const auto load_after = [&](const std::function<void()>& change) {
    TinyModelBuilder({}).WriteTo(path);
    const auto file = Must(GgufFile::Open(path));
    const WeightLayout layout = Must(Plan(*file));
    WaitForLaterFileTime(path);
    change();
    return LoadResident(*file, layout, pool).status();
  };
  EXPECT_EQ(load_after([&] { ASSERT_EQ(chmod(path.c_str(), 0640), 0); }), absl::OkStatus());
  EXPECT_EQ(load_after([&] { ASSERT_EQ(rename(path.c_str(), folder.Path("moved").c_str()), 0); }), absl::OkStatus());
  EXPECT_EQ(load_after([&] { ASSERT_EQ(unlink(path.c_str()), 0); }), absl::OkStatus());
  for (const absl::Status& status : {load_after([&] { std::ofstream(path, std::ios::app) << "more"; }),
                                     load_after([&] { ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), nullptr, 0), 0); })}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(status.message().find(path + ": the file changed while it was read: "), 0u) << status;
  }
}

}  // namespace
}  // namespace tessera
