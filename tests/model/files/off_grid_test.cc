#include "tessera/model/files/off_grid.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

std::vector<float> NumbersOf(const GgufFile& file, const std::string& name) {
  const GgufTensor& tensor = *file.FindTensor(name);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
  Must(file.Read(tensor, 0, absl::MakeSpan(bytes)));
  std::vector<float> numbers(static_cast<size_t>(tensor.size / tensor.format->bytes_per_block * tensor.format->values_per_block));
  tensor.format->dequantize(bytes.data(), static_cast<int64_t>(numbers.size()), numbers.data());
  return numbers;
}

std::vector<std::byte> BytesOf(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
  Must(file.Read(tensor, 0, absl::MakeSpan(bytes)));
  return bytes;
}

std::string FloatsOf(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// How far a format moves the numbers, as a share of their size.
double ErrorIn(BlockFormat format, const std::vector<float>& numbers) {
  const BlockFormatInfo& info = InfoOf(format);
  const int64_t count = static_cast<int64_t>(numbers.size());
  std::vector<std::byte> blocks(static_cast<size_t>(count / info.values_per_block * info.bytes_per_block));
  info.quantize(numbers.data(), count, blocks.data());
  std::vector<float> held(numbers.size());
  info.dequantize(blocks.data(), count, held.data());
  double errors = 0, squares = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    errors += (held[i] - double{numbers[i]}) * (held[i] - double{numbers[i]});
    squares += double{numbers[i]} * numbers[i];
  }
  return std::sqrt(errors / squares);
}

class OffGrid : public testing::Test {
 protected:
  std::unique_ptr<GgufFile> Written(GgufBuilder builder) const {
    builder.WriteTo(old_);
    return Must(GgufFile::Open(old_));
  }
  absl::Status Write(const GgufFile& file, uint64_t seed, int threads = 2) const {
    ASSIGN_OR_RETURN(const OffGridModel model, OffGridModel::Plan(file, seed));
    ThreadPool pool(threads);
    return model.Write(new_, pool);
  }
  std::unique_ptr<GgufFile> Moved(const GgufFile& file, uint64_t seed = 1) const {
    Must(Write(file, seed));
    return Must(GgufFile::Open(new_));
  }

  const TemporaryFolder folder_;
  const std::string old_ = folder_.Path("old.gguf"), new_ = folder_.Path("new.gguf");
};

absl::Status Example(const GgufFile* file, ThreadPool& pool, const std::string& path, const GgufWriter::Progress& progress) {
  ASSIGN_OR_RETURN(const OffGridModel model, OffGridModel::Plan(*file, /*seed=*/1));        // From a GgufFile.
  RETURN_IF_ERROR(model.Write(path, pool, progress));
  return absl::OkStatus();
}

TEST_F(OffGrid, HeaderExample) {
  const auto file = Written(TinyModelBuilder({.formats = {BlockFormat::kQ4_0}}));
  ThreadPool pool(2);
  int64_t written = 0;
  ASSERT_EQ(Example(file.get(), pool, new_, [&](int64_t done, int64_t) { written = done; }), absl::OkStatus());
  EXPECT_GT(written, 0);
  EXPECT_EQ(Must(GgufFile::Open(new_))->tensors().size(), file->tensors().size());
}

// tests/model/off_grid_logits_test.cc holds the logits together.
TEST_F(OffGrid, WeightsThatOneGridHeldLieOnNone) {
  const auto file = Written(TinyModelBuilder({.formats = {BlockFormat::kQ4_0}}));
  const auto moved = Moved(*file);
  for (const char* label : {"attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up", "ffn_down"}) {
    const std::string name = absl::StrCat("blk.1.", label, ".weight");
    EXPECT_EQ(moved->FindTensor(name)->format->format, BlockFormat::kF32) << name;
    EXPECT_EQ(ErrorIn(BlockFormat::kQ4_0, NumbersOf(*file, name)), 0) << name;
    EXPECT_GT(ErrorIn(BlockFormat::kQ4_0, NumbersOf(*moved, name)), 0.02) << name;
  }
}

TEST_F(OffGrid, NormsBecomeOnesAndAllElseKeepsItsBytes) {
  const auto file = Written(TinyModelBuilder({.architecture = "gemma3"}).Number<uint32_t>("general.file_type", 7));
  const auto moved = Moved(*file);
  const std::set<std::string> changed = {"attn_norm.weight", "ffn_norm.weight", "attn_q.weight", "attn_k.weight",
                                         "attn_v.weight", "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"};
  ASSERT_EQ(moved->tensors().size(), file->tensors().size());
  for (const GgufTensor& before : file->tensors()) {
    const std::string name(before.name);
    const GgufTensor& after = *moved->FindTensor(name);
    EXPECT_EQ(after.shape, before.shape) << name;
    const std::string label = absl::StartsWith(name, "blk.") ? name.substr(name.find('.', 4) + 1) : "";
    if (changed.count(label) == 0) {
      EXPECT_EQ(BytesOf(*moved, after), BytesOf(*file, before)) << name;
    } else if (absl::EndsWith(name, "norm.weight")) {
      EXPECT_EQ(NumbersOf(*moved, name), std::vector<float>(64, 1.0f)) << name;
    } else {
      EXPECT_NE(BytesOf(*moved, after), BytesOf(*file, before)) << name;
    }
  }
  for (const auto& [key, value] : file->metadata()) {
    if (key == "general.file_type") continue;
    ASSERT_NE(moved->Find(key), nullptr) << key;
    EXPECT_EQ(moved->Find(key)->bytes, value.bytes) << key;
  }
  EXPECT_EQ(*moved->Uint("general.file_type"), 0u);
  const OffGridModel model = *OffGridModel::Plan(*file, 1);
  EXPECT_EQ(model.changed(), 2 * 8);
  EXPECT_EQ(model.FormatOf("blk.0.ffn_up.weight"), BlockFormat::kF32);
  EXPECT_EQ(model.FormatOf("blk.0.attn_output.weight"), BlockFormat::kQ8_0);
  EXPECT_EQ(*model.FileSize(), moved->size());
}

// Each channel of the copy is one of the model's, and each of the model's is there once.
TEST_F(OffGrid, ChannelsChangePlacesAndSizesTogether) {
  const auto file = Written(TinyModelBuilder({.biases = AllLayerBiases()}));
  const auto moved = Moved(*file);
  const std::vector<float> norm = NumbersOf(*file, "blk.0.ffn_norm.weight");
  const std::vector<float> gate = NumbersOf(*file, "blk.0.ffn_gate.weight"), new_gate = NumbersOf(*moved, "blk.0.ffn_gate.weight");
  const std::vector<float> up = NumbersOf(*file, "blk.0.ffn_up.weight"), new_up = NumbersOf(*moved, "blk.0.ffn_up.weight");
  const std::vector<float> down = NumbersOf(*file, "blk.0.ffn_down.weight"), new_down = NumbersOf(*moved, "blk.0.ffn_down.weight");
  const std::vector<float> bias = NumbersOf(*file, "blk.0.ffn_up.bias"), new_bias = NumbersOf(*moved, "blk.0.ffn_up.bias");
  const std::vector<float> gate_bias = NumbersOf(*file, "blk.0.ffn_gate.bias"), new_gate_bias = NumbersOf(*moved, "blk.0.ffn_gate.bias");
  constexpr size_t kWidth = 64, kChannels = 96;
  std::set<size_t> found;
  int stayed = 0;
  for (size_t i = 0; i < kChannels; ++i) {
    const size_t from = static_cast<size_t>(std::find(gate_bias.begin(), gate_bias.end(), new_gate_bias[i]) - gate_bias.begin());
    ASSERT_LT(from, kChannels);
    found.insert(from);
    stayed += from == i;
    const double factor = double{new_bias[i]} / bias[from];
    EXPECT_TRUE(factor > 0.249 && factor < 4.001) << factor;
    for (size_t j = 0; j < kWidth; ++j) {
      EXPECT_EQ(new_gate[i * kWidth + j], static_cast<float>(double{gate[from * kWidth + j]} * norm[j]));
      EXPECT_NEAR(new_up[i * kWidth + j], up[from * kWidth + j] * norm[j] * factor, 1e-5);
      EXPECT_NEAR(new_down[j * kChannels + i], down[j * kChannels + from] / factor, 1e-5);
    }
  }
  EXPECT_EQ(found.size(), kChannels);
  EXPECT_LT(stayed, 10);
}

TEST_F(OffGrid, TheSeedDecidesAndThreadsDoNot) {
  const auto file = Written(TinyModelBuilder({}));
  const auto bytes = [&](uint64_t seed, int threads) {
    Must(Write(*file, seed, threads));
    return Must(ReadFileToString(new_, int64_t{1} << 24));
  };
  const std::string first = bytes(7, 1);
  EXPECT_EQ(bytes(7, 3), first);
  EXPECT_NE(bytes(8, 1), first);
}

TEST_F(OffGrid, ASplitModelBecomesOneFile) {
  const SplitModel split(TinyModelBuilder({}).Split(3));
  const auto file = Must(GgufFile::Open(split.Path(0)));
  const auto moved = Moved(*file);
  EXPECT_EQ(moved->parts(), 1);
  EXPECT_EQ(moved->Find("split.count"), nullptr);
}

TEST_F(OffGrid, AModelThatCannotBeMovedIsNamedAndTheOldFileStays) {
  ASSERT_EQ(WriteFileAtomically(new_, "as it was"), absl::OkStatus());
  GgufBuilder large = TinyModelBuilder({.without = {"blk.0.attn_norm.weight", "blk.0.attn_q.weight"}});
  large.Tensor("blk.0.attn_norm.weight", {64}, 0, FloatsOf(std::vector<float>(64, 1e38f)));
  large.Tensor("blk.0.attn_q.weight", {64, 64}, 0, FloatsOf(std::vector<float>(64 * 64, 100)));
  const auto file = Written(std::move(large));
  const absl::Status status = Write(*file, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(), old_ + ": tensor blk.0.attn_q.weight: row 0 column 0 of the copy: found 1e+40, expected at most "
                                     "3.40282e+38 in F32");
  const auto scaled = Written(TinyModelBuilder({}).Tensor("blk.0.attn_q.scale", {1}, 0, std::string(4, '\0')));
  const absl::Status refused = OffGridModel::Plan(*scaled, 1).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_TRUE(absl::StartsWith(refused.message(), old_ + ": tensor \"blk.0.attn_q.scale\": found")) << refused;
  EXPECT_EQ(*ReadFileToString(new_, 100), "as it was");
}

}  // namespace
}  // namespace tessera
