#include "tessera/apps/bench/adapters/adapter_reads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/adapters/random_halves.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/adapter_set.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/load_adapter.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {
namespace {

constexpr int kAdapters = 2;
constexpr int64_t kPlainBlock = int64_t{4} << 20;

absl::Status WriteAdapter(const std::string& path, const ModelConfig& config, int rank, uint64_t seed) {
  GgufWriter writer;
  writer.String("general.architecture", config.architecture).String("general.type", "adapter").String("adapter.type", "lora");
  writer.Number<float>("adapter.lora.alpha", 1);
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    for (int target = 0; target < kLoraTargets; ++target) {
      const auto [in, out] = LoraShapeOf(config, static_cast<LoraTarget>(target));
      const std::string name = absl::StrCat("blk.", layer, ".", LoraTargetName(static_cast<LoraTarget>(target)), ".weight.lora_");
      writer.Tensor(name + "a", BlockFormat::kF16, {in, rank}).Tensor(name + "b", BlockFormat::kF16, {rank, out});
    }
  }
  SeededRandom random(seed);
  return writer.Write(path, [&](int tensor, GgufWriter::Append append) {
    return append(RandomHalves(writer.TensorBytes(tensor) / static_cast<int64_t>(sizeof(uint16_t)), random));
  });
}

// Drops the file from the page cache. Returns whether the page cache then holds nothing of the file.
bool DropFromPageCache(const RandomAccessFile& file) {
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  return file.CachedBytes() == 0;
}

}  // namespace

AdapterReads::AdapterReads(Engine& engine, std::string folder)
    : engine_(engine), clock_(engine.ClockOr(nullptr)), folder_(std::move(folder)) {}

AdapterReads::~AdapterReads() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

absl::StatusOr<std::unique_ptr<AdapterReads>> AdapterReads::Create(Engine& engine, int rank) {
  ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
  std::string folder = absl::StrCat(cache, "/adapters-", getpid());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  std::unique_ptr<AdapterReads> reads(new AdapterReads(engine, std::move(folder)));
  const MarkedModel marked(CoreOf(engine).model().file());
  for (int i = 0; i < kAdapters; ++i) {
    const std::string& path = reads->paths_.emplace_back(absl::StrCat(reads->folder_, "/", i, ".gguf"));
    RETURN_IF_ERROR(WriteAdapter(path, engine.config(), rank, /*seed=*/static_cast<uint64_t>(i) + 1));
    ASSIGN_OR_RETURN(std::shared_ptr<const AdapterReader> reader, AdapterReader::Open(path, marked, engine.config()));
    reads->readers_.push_back(std::move(reader));
  }
  const LoraPlan plan = PlanLoraAdapter(reads->readers_[0]->shapes(), engine.config());
  const int64_t bytes = plan.BytesPaddedTo(plan.ranks, LoraShapesOf(engine.config()));
  reads->file_bytes_ = static_cast<int64_t>(std::filesystem::file_size(reads->paths_[0], error));
  reads->cache_ = std::make_unique<AdapterCache>(AdapterCache::Options{.most_bytes = bytes, .clock = &reads->clock_});
  for (const std::shared_ptr<const AdapterReader>& reader : reads->readers_) {
    reads->cache_->Add({.name = reader->shapes().path, .bytes = bytes, .read = [reader, &config = engine.config()] {
                          return ReadLoraAdapter(*reader, config);
                        }});
  }
  return reads;
}

absl::StatusOr<double> AdapterReads::PlainSeconds(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path, RandomAccessFile::Caching::kDirect));
  const int64_t end = file->size() / AlignedBuffer::kAlignment * AlignedBuffer::kAlignment;   // Less than a page is left out.
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(std::min(kPlainBlock, end)));
  RETURN_IF_ERROR(buffer.PrepareForDevices());
  const double begin = Now();
  for (int64_t at = 0; at < end; at += buffer.size()) {
    RETURN_IF_ERROR(file->Read(at, buffer.bytes().first(static_cast<size_t>(std::min(buffer.size(), end - at)))));
  }
  return Now() - begin;
}

absl::StatusOr<std::optional<AdapterReads::Pair>> AdapterReads::Measure() {
  const int adapter = next_;
  next_ = (next_ + 1) % kAdapters;
  const std::string& path = paths_[static_cast<size_t>(adapter)];
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  Pair pair;
  if (!DropFromPageCache(*file)) return std::optional<Pair>();
  ASSIGN_OR_RETURN(pair.plain_seconds, PlainSeconds(path));
  if (!DropFromPageCache(*file)) return std::optional<Pair>();
  const double begin = Now();
  RETURN_IF_ERROR(cache_->Lease(adapter).status());
  pair.switch_seconds = Now() - begin;
  return std::optional<Pair>(pair);
}

}  // namespace tessera
