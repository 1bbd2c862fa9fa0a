// How much memory a file can make a reader take, and a writer: what operator new gives out is counted, for good files and for bad ones.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/files/verify.h"
#include "tessera/model/files/weights.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace {

std::atomic<int64_t> live_bytes = 0, peak_bytes = 0;

void Free(void* memory) noexcept {
  live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* const memory = std::malloc(size);
  if (memory == nullptr) return nullptr;
  const int64_t live = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  for (int64_t peak = peak_bytes; live > peak && !peak_bytes.compare_exchange_weak(peak, live);) continue;
  return memory;
}
void* operator new(size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }

namespace tessera {
namespace {

// The most bytes alive at once in body(), beyond those before.
template <typename Body>
int64_t PeakOf(const Body& body) {
  const int64_t before = live_bytes;
  peak_bytes = before;
  body();
  return peak_bytes - before;
}

int64_t PeakOfParsing(const std::string& bytes) {
  return PeakOf([&] { (void)GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.gguf"); });
}

// All that loading does before it makes room for weights.
int64_t PeakOfPlanning(const std::string& bytes) {
  return PeakOf([&] {
    const auto file = GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.gguf");
    if (!file.ok()) return;
    (void)ReadTokenizer(**file);
    const auto config = ReadModelConfig(**file);
    if (config.ok()) (void)WeightLayout::Plan(**file, *config, WeightEncoding::kPacked);
  });
}

// The bounds: what a small file needs, and so many times the file.
constexpr int64_t kParsing = 64 << 10, kPlanning = 1 << 20;
constexpr int64_t kTimesTheFile = 16;

TEST(GgufMemory, TheCounterCounts) {
  EXPECT_EQ(PeakOf([] {}), 0);
  EXPECT_GE(PeakOf([] { std::string(1 << 20, 'x').swap(*std::make_unique<std::string>()); }), 1 << 20);
}

TEST(GgufMemory, BadFilesTakeNoMoreThanTheirSizeJustifies) {
  for (const BadFile& file : BadGgufFiles()) {
    EXPECT_LE(PeakOfParsing(file.bytes), kParsing + kTimesTheFile * static_cast<int64_t>(file.bytes.size())) << file.name;
  }
  for (const BadFile& file : BadModelFiles()) {
    EXPECT_LE(PeakOfPlanning(file.bytes), kPlanning + kTimesTheFile * static_cast<int64_t>(file.bytes.size())) << file.name;
  }
}

// Lists of the smallest entries there are: what takes most memory for its bytes.
TEST(GgufMemory, ListsTakeNoMoreThanTheirSizeJustifies) {
  GgufBuilder entries, tensors, strings;
  for (int i = 0; i < 60'000; ++i) entries.Number<uint8_t>(std::to_string(i), 1);
  for (int i = 0; i < 60'000; ++i) tensors.Tensor(std::to_string(i), {1}, 0, "1234");
  strings.Array("strings", GgufType::kString, 1 << 20, std::string(8 << 20, '\0'));
  for (GgufBuilder* builder : {&entries, &tensors, &strings}) {
    const std::string bytes = builder->Build();
    EXPECT_LE(PeakOfParsing(bytes), kParsing + kTimesTheFile * static_cast<int64_t>(bytes.size()));
  }
  const std::string bytes = strings.Build();
  EXPECT_LE(PeakOfParsing(bytes), kParsing) << "strings are read where they lie";
}

TEST(GgufMemory, WritingTakesMemoryByNamesNotByTensors) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("written.gguf");
  const std::vector<std::byte> piece(1 << 16);
  for (int64_t pieces : {1, 1024}) {  // 64 KiB and 64 MiB.
    GgufWriter writer;
    writer.Tensor("t", BlockFormat::kF32, {pieces << 14});
    const auto produce = [&](int, GgufWriter::Append append) {
      absl::Status status;
      for (int64_t i = 0; i < pieces; ++i) status.Update(append(piece));
      return status;
    };
    EXPECT_LE(PeakOf([&] { EXPECT_EQ(writer.Write(path, produce), absl::OkStatus()); }), 16 << 10);
  }
  std::filesystem::remove(path);
}

TEST(GgufMemory, AVocabularyOfEmptyStringsTakesNoMoreThanItsSizeJustifies) {
  constexpr uint64_t kStrings = 1 << 20;
  const std::string empty(8 * kStrings, '\0');
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    GgufBuilder builder = TinyModelBuilder({});
    const std::string bytes = builder.Remove(key).Array(key, GgufType::kString, kStrings, empty).Build();
    EXPECT_LE(PeakOfPlanning(bytes), kPlanning + kTimesTheFile * static_cast<int64_t>(bytes.size())) << key;
  }
}

// Special texts of which no two share more than their first bytes.
TEST(GgufMemory, SpecialTextsTakeNoMoreThanTheirSizeJustifies) {
  constexpr int kTexts = 4096;
  for (size_t bytes_each : {4, 1024}) {  // 1024: the longest that are taken.
    std::vector<std::string> texts(kTexts);
    std::vector<int32_t> types(kTexts, 4);
    types[0] = 2;  // The unknown token, in place of one for each byte.
    for (int i = 0; i < kTexts; ++i) texts[i] = absl::StrFormat("%03x", i) + std::string(bytes_each - 3, 'x');
    TokenizerMetadata metadata = SmallSentencePiece();
    metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(texts));
    metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats(std::vector<float>(kTexts, 0)));
    metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
    GgufBuilder builder;
    AddTo(builder, metadata);
    const std::string bytes = builder.Build();
    EXPECT_TRUE(ReadTokenizer(**OpenAsGguf(metadata)).ok());
    EXPECT_LE(PeakOfPlanning(bytes), kPlanning + kTimesTheFile * static_cast<int64_t>(bytes.size())) << bytes_each;
  }
}

// A hole makes a tensor of 20 GB. It need not all be read for this: after the first piece the file becomes too short.
TEST(GgufMemory, VerifyingTakesNoMoreForALargeTensor) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("hole.gguf");
  GgufBuilder().Tensor("a", {5'000'000'000}, 0, "").WriteTo(path);
  std::filesystem::resize_file(path, 20'000'100'000);
  ThreadPool pool(1);
  VerifyReport report;
  EXPECT_LE(PeakOf([&] { report = VerifyModel(path, pool, [&](int64_t, int64_t) { std::filesystem::resize_file(path, 0); }); }),
            kPlanning);
  EXPECT_EQ(report.tensor_bytes, 20'000'000'000);
  const std::string& last = report.problems.back().message;
  EXPECT_TRUE(absl::StrContains(last, ": the file ends before byte 524352, ")) << last;
}

}  // namespace
}  // namespace tessera
