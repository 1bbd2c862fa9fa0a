#include "tessera/model/files/importance.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string Floats(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// An entry of the older form, whose counts need not fit.
std::string OldEntry(const std::string& name, int32_t calls, const std::vector<float>& values) {
  return Bytes(static_cast<int32_t>(name.size())) + name + Bytes(calls) + Bytes(static_cast<int32_t>(values.size())) + Floats(values);
}

class ImportanceTest : public testing::Test {
 protected:
  absl::StatusOr<Importance> ReadBytes(const std::string& bytes) const {
    Must(WriteFileAtomically(path_, bytes));
    return Importance::Read(path_);
  }
  // The error names the file and says `problem`.
  void ExpectRefused(const std::string& bytes, const std::string& problem) const {
    const absl::StatusOr<Importance> read = ReadBytes(bytes);
    ASSERT_FALSE(read.ok()) << problem;
    EXPECT_TRUE(absl::StartsWith(read.status().message(), path_ + ": ")) << read.status();
    EXPECT_TRUE(absl::StrContains(read.status().message(), problem)) << read.status() << "\nexpected " << problem;
  }

  struct Model { std::unique_ptr<GgufFile> file; ModelConfig config; };
  Model ModelOf(const TinyModel& tiny) const {
    const std::string path = folder_.Path("model.gguf");
    TinyModelBuilder(tiny).WriteTo(path);
    Model model = {.file = Must(GgufFile::Open(path))};
    model.config = Must(ReadModelConfig(*model.file));
    return model;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("statistics");
};

// An entry for each matrix of each layer.
Importance ImportanceOf(const ModelConfig& config, int64_t rows = 100) {
  SeededRandom random(5);
  Importance importance;
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    for (const TensorNeed& need : LayerNeeds(config, layer)) {
      if (need.vector) continue;
      Importance::Entry entry = {.rows = rows};
      for (int64_t i = 0; i < need.columns; ++i) entry.mean_squares.push_back(random.Uniform(0.0f, 4.0f));
      Must(importance.Add(need.name, std::move(entry)));
    }
  }
  return importance;
}

TEST_F(ImportanceTest, HeaderExample) {
  const Model model = ModelOf({});
  Must(ImportanceOf(model.config).Write(folder_.Path("statistics.gguf")));
  const auto example = [&](const std::unique_ptr<GgufFile>& file, const ModelConfig& config) -> absl::Status {
    ASSIGN_OR_RETURN(const Importance importance, Importance::Read(folder_.Path("statistics.gguf")));
    RETURN_IF_ERROR(importance.CheckFits(*file, config));                          // statistics of another model are refused
    absl::Span<const float> squares = importance.Of("blk.0.ffn_up.weight");        // one per input; empty: not known
    EXPECT_EQ(squares.size(), static_cast<size_t>(config.width));
    EXPECT_TRUE(importance.Of("blk.9.ffn_up.weight").empty());
    return absl::OkStatus();
  };
  EXPECT_EQ(example(model.file, model.config), absl::OkStatus());
}

TEST_F(ImportanceTest, WrittenStatisticsAreReadBack) {
  const Model model = ModelOf({});
  Importance written = ImportanceOf(model.config, /*rows=*/77);
  written.SetText({{"a.txt", "b.txt"}, 3, 512});
  written.SetMark(Must(Importance::MarkOf(*model.file, model.config)));
  Must(written.Write(path_));
  const Importance read = Must(Importance::Read(path_));
  ASSERT_EQ(read.entries().size(), written.entries().size());
  for (const auto& [tensor, entry] : written.entries()) {
    const Importance::Entry& again = read.entries().at(tensor);
    EXPECT_EQ(again.rows, 77);
    ASSERT_EQ(again.mean_squares.size(), entry.mean_squares.size());
    for (size_t i = 0; i < entry.mean_squares.size(); ++i) ASSERT_NEAR(again.mean_squares[i], entry.mean_squares[i], 1e-6);
  }
  EXPECT_EQ(read.text().datasets, (std::vector<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(read.text().chunks, 3u);
  EXPECT_EQ(read.text().chunk_size, 512u);
  EXPECT_EQ(read.mark(), written.mark());
  EXPECT_EQ(read.CheckFits(*model.file, model.config), absl::OkStatus());
}

// As other programs expect the file: sums of squares, and rows, by these names.
TEST_F(ImportanceTest, SumsAndCountsAreWrittenAsThePeerReadsThem) {
  Importance importance;
  Must(importance.Add("blk.0.ffn_up.weight", {{0.5f, 2, 0}, 8}));
  Must(importance.Write(path_));
  const std::unique_ptr<GgufFile> file = Must(GgufFile::Open(path_));
  EXPECT_EQ(Must(file->String("general.type")), "imatrix");
  for (const char* key : {"imatrix.datasets", "imatrix.chunk_count", "imatrix.chunk_size"}) EXPECT_NE(file->Find(key), nullptr) << key;
  ASSERT_EQ(file->tensors().size(), 2u);
  std::vector<float> sums(3), counts(1);
  const GgufTensor *const in_sum2 = file->FindTensor("blk.0.ffn_up.weight.in_sum2"),
                   *const count = file->FindTensor("blk.0.ffn_up.weight.counts");
  ASSERT_TRUE(in_sum2 != nullptr && count != nullptr);
  Must(file->Read(*in_sum2, 0, {reinterpret_cast<std::byte*>(sums.data()), 12}));
  Must(file->Read(*count, 0, {reinterpret_cast<std::byte*>(counts.data()), 4}));
  EXPECT_EQ(sums, (std::vector<float>{4, 16, 0}));
  EXPECT_EQ(counts, std::vector<float>{8});
}

TEST_F(ImportanceTest, ASumBeyondFloatsIsAnErrorAndLeavesNoFile) {
  Importance importance;
  Must(importance.Add("blk.0.ffn_up.weight", {{1, 3e38f}, 4}));
  const absl::Status status = importance.Write(path_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "tensor blk.0.ffn_up.weight: sum of squares of input 1")) << status;
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// --- The older form.

const std::string kTwo = OldEntry("blk.0.ffn_up.weight", 4, {8, 2, 0}) + OldEntry("blk.0.ffn_down.weight", 1, {3});

TEST_F(ImportanceTest, TheOlderFormIsReadWithAndWithoutItsEnding) {
  const std::string text = "wiki.txt";
  const std::string ends[] = {"", Bytes<int32_t>(7), Bytes<int32_t>(7) + Bytes<int32_t>(0),
                              Bytes<int32_t>(7) + Bytes(static_cast<int32_t>(text.size())) + text};
  for (const std::string& end : ends) {
    const Importance read = Must(ReadBytes(Bytes<int32_t>(2) + kTwo + end));
    ASSERT_EQ(read.entries().size(), 2u);
    EXPECT_EQ(read.entries().at("blk.0.ffn_up.weight").mean_squares, (std::vector<float>{2, 0.5f, 0}));
    EXPECT_EQ(read.entries().at("blk.0.ffn_up.weight").rows, 4);
    EXPECT_EQ(read.entries().at("blk.0.ffn_down.weight").mean_squares, std::vector<float>{3});
    EXPECT_EQ(read.text().chunks, end.empty() ? 0u : 7u);
    EXPECT_EQ(read.text().datasets, end.size() > 8 ? std::vector<std::string>{text} : std::vector<std::string>());
    EXPECT_FALSE(read.mark().has_value());
  }
}

TEST_F(ImportanceTest, TheOlderFormIsRefusedWithAnyOtherEnd) {
  const std::string entries = Bytes<int32_t>(2) + kTwo;
  const std::string whole = entries + Bytes<int32_t>(7) + Bytes<int32_t>(4) + "wiki";
  for (size_t size = 0; size < whole.size(); ++size) {
    const bool may_end = size == entries.size() || size == entries.size() + 4;
    EXPECT_EQ(ReadBytes(whole.substr(0, size)).ok(), may_end) << size;
  }
  ExpectRefused(whole + "x", absl::StrCat("end at byte ", whole.size(), ": found 1 bytes more, expected none"));
}

TEST_F(ImportanceTest, WrongFieldsOfTheOlderFormAreNamed) {
  const std::string one = Bytes<int32_t>(1), a = Bytes<int32_t>(1) + "a";
  const std::string entry = "entry[0] \"a\": ";
  const std::pair<std::string, std::string> cases[] = {
      {"", "entries at byte 0: the file is truncated: needs 4 bytes, 0 left"},
      {"Hello, this is a text and no matrix.", "importance matrix in its older form: entries at byte 0: found 1819043144, expected 1 to 2"},
      {Bytes<int32_t>(0) + kTwo, "entries at byte 0: found 0, expected 1 to "},
      {Bytes<int32_t>(-1) + kTwo, "entries at byte 0: found -1, expected 1 to "},
      {Bytes<int32_t>(3) + kTwo, "entry[2]: name_length at byte 84: the file is truncated"},
      {one + Bytes<int32_t>(-1) + std::string(20, 'x'), "entry[0]: name_length at byte 4: found -1, expected 1 to 63"},
      {one + OldEntry("", 1, {1, 1}), "entry[0]: name_length at byte 4: found 0, expected 1 to 63"},
      {one + OldEntry(std::string(64, 'x'), 1, {1}), "entry[0]: name_length at byte 4: found 64, expected 1 to 63"},
      {one + OldEntry("\xff\x01", 1, {1}), "entry[0]: name at byte 8: found "},
      {one + OldEntry("a", 0, {1}), entry + "calls at byte 9: found 0, expected 1 to 2147483647"},
      {one + OldEntry("a", -7, {1}), entry + "calls at byte 9: found -7, expected 1 to 2147483647"},
      {one + a + one + Bytes<int32_t>(0) + "1234", entry + "values at byte 13: found 0, expected 1 to"},
      {one + a + one + Bytes<int32_t>(-5) + "1234", entry + "values at byte 13: found -5, expected 1 to"},
      {one + a + one + Bytes<int32_t>(1 << 30) + "1234",
       entry + "values at byte 17: the file is truncated: needs 4294967296 bytes, 4 left"},
      {one + OldEntry("a", 1, {1, kNan}), "tensor a: mean square of input 1: found nan, expected a finite number of 0 or more"},
      {one + OldEntry("a", 1, {kInfinity}), "tensor a: mean square of input 0: found inf"},
      {one + OldEntry("a", 1, {1, 1, -1}), "tensor a: mean square of input 2: found -1"},
      {Bytes<int32_t>(2) + OldEntry("a", 1, {1}) + OldEntry("a", 1, {1}), "tensor a: found it a second time, expected it once"},
      {one + OldEntry("a", 1, {1}) + Bytes<int32_t>(-1), "chunks at byte 21: found -1, expected 0 to"},
      {one + OldEntry("a", 1, {1}) + one + Bytes<int32_t>(-1), "dataset_length at byte 25: found -1, expected 0 to"},
      {one + OldEntry("a", 1, {1}) + one + Bytes<int32_t>(9) + "wiki", "dataset at byte 29: the file is truncated: needs 9 bytes, 4 left"},
  };
  for (const auto& [bytes, problem] : cases) ExpectRefused(bytes, problem);
}

TEST_F(ImportanceTest, AFileThatIsNotThereIsNamed) {
  const absl::Status status = Importance::Read(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(status.message(), path_)) << status;
}

// --- The GGUF form.

constexpr char kUp[] = "blk.0.ffn_up.weight";
const uint32_t kF32 = InfoOf(BlockFormat::kF32).gguf_type;

void AddTensor(GgufBuilder& builder, const std::string& name, const std::vector<uint64_t>& shape, const std::vector<float>& values) {
  builder.Tensor(name, shape, kF32, Floats(values));
}

GgufBuilder PeersKeys() {
  GgufBuilder builder;
  builder.String("general.type", "imatrix").Strings("imatrix.datasets", {"wiki.txt"});
  builder.Number("imatrix.chunk_count", uint32_t{7}).Number("imatrix.chunk_size", uint32_t{512});
  return builder;
}

GgufBuilder PeersFile() {
  GgufBuilder builder = PeersKeys();
  AddTensor(builder, absl::StrCat(kUp, ".in_sum2"), {3, 1}, {8, 2, 0});
  AddTensor(builder, absl::StrCat(kUp, ".counts"), {1, 1}, {4});
  return builder;
}

TEST_F(ImportanceTest, ThePeersFileIsReadWithAndWithoutItsSums) {
  for (const bool sums : {false, true}) {
    GgufBuilder builder = PeersFile();
    if (sums) AddTensor(builder, absl::StrCat(kUp, ".in_sum"), {3, 1}, {-8, 2, 0});
    const Importance read = Must(ReadBytes(builder.Build()));
    ASSERT_EQ(read.entries().size(), 1u);
    EXPECT_EQ(read.entries().at(kUp).mean_squares, (std::vector<float>{2, 0.5f, 0}));
    EXPECT_EQ(read.entries().at(kUp).rows, 4);
    EXPECT_EQ(read.text().datasets, std::vector<std::string>{"wiki.txt"});
    EXPECT_EQ(read.text().chunks, 7u);
    EXPECT_FALSE(read.mark().has_value());
  }
}

TEST_F(ImportanceTest, KeysOfAnotherTypeAreNamed) {
  const std::pair<std::function<void(GgufBuilder&)>, std::string> cases[] = {
      {[](GgufBuilder& b) { b.Remove("general.type"); }, "general.type"},
      {[](GgufBuilder& b) { b.Remove("general.type").String("general.type", "model"); }, "expected \"imatrix\""},
      {[](GgufBuilder& b) { b.Remove("general.type").Number("general.type", uint32_t{1}); }, "general.type"},
      {[](GgufBuilder& b) { b.Remove("imatrix.datasets").String("imatrix.datasets", "wiki.txt"); }, "imatrix.datasets"},
      {[](GgufBuilder& b) { b.Remove("imatrix.chunk_count").Number("imatrix.chunk_count", uint64_t{1} << 32); },
       "found 4294967296, expected at most 4294967295"},
      {[](GgufBuilder& b) { b.Remove("imatrix.chunk_size").Number("imatrix.chunk_size", int32_t{-1}); }, "imatrix.chunk_size"},
      {[](GgufBuilder& b) { b.String("tessera.model.vectors", "x"); }, "tessera.model.vectors"},
  };
  for (const auto& [change, problem] : cases) {
    GgufBuilder builder = PeersFile();
    change(builder);
    ExpectRefused(builder.Build(), problem);
  }
}

TEST_F(ImportanceTest, WrongTensorsAreNamed) {
  const std::string squares = absl::StrCat(kUp, ".in_sum2"), counts = absl::StrCat(kUp, ".counts");
  const auto file = [&](const std::vector<float>& sums, const std::vector<float>& count) {
    GgufBuilder builder = PeersKeys();
    AddTensor(builder, squares, {sums.size()}, sums);
    AddTensor(builder, counts, {count.size()}, count);
    return builder;
  };
  const std::string whole = "expected a whole number from 1 to ";
  const std::pair<GgufBuilder, std::string> cases[] = {
      {PeersKeys(), "tensors: found none, expected statistics of at least one"},
      {PeersFile().RemoveTensor(counts), absl::StrCat("tensor ", squares, ": found no tensor ", counts, ", expected one")},
      {PeersFile().RemoveTensor(squares), absl::StrCat("tensor ", counts, ": found no tensor ", squares, ", expected one")},
      {PeersFile().Tensor("a.in_sum", {1}, kF32, "1234"), "tensor a.in_sum: found no tensor a.in_sum2, expected one"},
      {PeersFile().Tensor(kUp, {1}, kF32, "1234"), absl::StrCat("tensor ", kUp, ": found a name that is not read")},
      {PeersFile().Tensor(".in_sum2", {1}, kF32, "1234"), "tensor .in_sum2: found a name that is not read"},
      {file({1}, {0}), absl::StrCat("tensor ", counts, ": found 0, ", whole)},
      {file({1}, {-3}), absl::StrCat("found -3, ", whole)},
      {file({1}, {1.5f}), absl::StrCat("found 1.5, ", whole)},
      {file({1}, {1e30f}), absl::StrCat("found 1e+30, ", whole)},
      {file({1}, {kNan}), absl::StrCat("found nan, ", whole)},
      {file({1, 1}, {1, 1}), absl::StrCat("tensor ", counts, ": found more than one count, expected one")},
      {file({1, kNan}, {1}), absl::StrCat("tensor ", kUp, ": mean square of input 1: found nan")},
      {file({-1}, {1}), absl::StrCat("tensor ", kUp, ": mean square of input 0: found -1")},
      {file({kInfinity}, {1}), absl::StrCat("tensor ", kUp, ": mean square of input 0: found inf")},
      {PeersFile().RemoveTensor(squares).Tensor(squares, {2, 2}, kF32, std::string(16, '\0')), "found more than one matrix, expected one"},
      {PeersFile().RemoveTensor(squares).Tensor(squares, {2}, InfoOf(BlockFormat::kF16).gguf_type, "1234"),
       absl::StrCat("tensor ", squares, ": found format F16, expected F32")},
  };
  for (const auto& [builder, problem] : cases) ExpectRefused(GgufBuilder(builder).Build(), problem);
}

TEST_F(ImportanceTest, AFileCutAnywhereIsRefused) {
  const std::string whole = PeersFile().Build();
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(ReadBytes(whole.substr(0, size)).ok()) << size;
}

// --- Whether they are of a model.

TEST_F(ImportanceTest, FitsItsModelInAnyFormatAndWithItsHead) {
  const Model model = ModelOf({});
  Importance importance = ImportanceOf(model.config);
  importance.SetMark(Must(Importance::MarkOf(*model.file, model.config)));
  const std::vector<float> of_width(static_cast<size_t>(model.config.width), 1.0f);
  Must(importance.Add("output.weight", {of_width, 1}));
  Must(importance.Add("token_embd.weight", {of_width, 1}));
  const Model smaller = ModelOf({.formats = {BlockFormat::kQ4_0, BlockFormat::kF16}});
  EXPECT_EQ(importance.CheckFits(*smaller.file, smaller.config), absl::OkStatus());
}

TEST_F(ImportanceTest, StatisticsOfAnotherModelAreRefused) {
  const Model model = ModelOf({});
  Importance importance = ImportanceOf(model.config);
  importance.SetMark(Must(Importance::MarkOf(*model.file, model.config)));
  const std::pair<TinyModel, std::string> others[] = {
      {{.width = 128}, "tensor blk.0.attn_k.weight: found 64 inputs, expected 128"},
      {{.feed_forward = 128}, "tensor blk.0.ffn_down.weight: found 96 inputs, expected 128"},
      {{.layers = 3}, "tensor blk.2.attn_q.weight: found none, expected 64 inputs"},
      {{.layers = 1}, "tensor blk.1.attn_k.weight: found statistics of it, expected those of a matrix of the model"},
      {{.seed = 2}, "tessera.model.vectors: found those of "},
  };
  for (const auto& [tiny, problem] : others) {
    const Model other = ModelOf(tiny);
    const absl::Status status = importance.CheckFits(*other.file, other.config);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << problem;
    EXPECT_TRUE(absl::StrContains(status.message(), problem)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "statistics of another model than " + folder_.Path("model.gguf"))) << status;
  }
}

TEST_F(ImportanceTest, WithoutAMarkShapesAloneDecide) {
  const Importance importance = ImportanceOf(ModelOf({}).config);
  const Model other = ModelOf({.seed = 2});
  EXPECT_EQ(importance.CheckFits(*other.file, other.config), absl::OkStatus());
}

TEST_F(ImportanceTest, StatisticsOfAVectorAreRefused) {
  const Model model = ModelOf({});
  Importance importance = ImportanceOf(model.config);
  Must(importance.Add("blk.0.attn_norm.weight", {{1}, 1}));
  EXPECT_TRUE(absl::StrContains(importance.CheckFits(*model.file, model.config).message(), "tensor blk.0.attn_norm.weight: found"));
}

TEST_F(ImportanceTest, AnEntryWithoutInputsOrRowsIsRefused) {
  Importance importance;
  EXPECT_EQ(importance.Add("a", {{}, 1}).message(), "tensor a: inputs: found none, expected at least 1");
  EXPECT_EQ(importance.Add("a", {{1}, 0}).message(), "tensor a: rows: found 0, expected at least 1");
  EXPECT_TRUE(importance.entries().empty());
}

}  // namespace
}  // namespace tessera
