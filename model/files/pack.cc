#include "tessera/model/files/pack.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/internal/packed_header.h"
#include "tessera/model/files/internal/packed_units.h"
#include "tessera/model/files/internal/unit_filler.h"

namespace tessera {
namespace {

// All threads fill units, and a thread that finds the next unit ready writes it, in order. Unit i lies in buffer i % buffers, which is free
// once unit i - buffers is written. Units are begun in order, so the next unit to write is always under way.
class UnitPacker {
 public:
  UnitPacker(const GgufFile& file, const WeightLayout& layout, const FillOptions& options, TsrWriter& writer,
             const std::function<void(int64_t, int64_t)>& progress)
      : filler_(file, layout, options), layout_(layout), writer_(writer), progress_(progress), ready_(layout.units()) {
    for (int unit = 0; unit < layout.units(); ++unit) largest_ = std::max(largest_, layout.UnitBytes(unit));
  }

  // Allocates the buffers of at most `threads` threads: each thread fills one buffer while another waits to be written.
  absl::Status Allocate(int threads) {
    const int64_t buffers = std::clamp<int64_t>(kPackMemory / std::max<int64_t>(largest_, 1), 1, 2 * threads);
    for (int64_t i = 0; i < buffers; ++i) {
      ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(largest_, AlignedBuffer::Pages::kLarge, "units to be packed"));
      buffers_.push_back(std::move(buffer));
    }
    return absl::OkStatus();
  }

  // Runs on each thread. Returns when no work is left, or after a failure.
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      const int unit = next_++;
      if (unit >= layout_.units()) return;
      changed_.wait(lock, [&] { return unit < written_ + static_cast<int>(buffers_.size()) || !status_.ok(); });
      if (!status_.ok()) return;
      const absl::Span<std::byte> bytes = BytesOf(unit);
      lock.unlock();
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      const absl::Status filled = OrOutOfMemory([&] { return filler_.Fill(unit, bytes); });
      lock.lock();
      Fail(filled);
      ready_[unit] = true;
      WriteReady(lock);
    }
  }

  const absl::Status& status() const { return status_; }

 private:
  absl::Span<std::byte> BytesOf(int unit) { return buffers_[unit % buffers_.size()].bytes().first(layout_.UnitBytes(unit)); }

  void Fail(const absl::Status& status) {
    if (status.ok() || !status_.ok()) return;
    status_ = status;
    changed_.notify_all();
  }

  void WriteReady(std::unique_lock<std::mutex>& lock) {
    if (writing_) return;
    writing_ = true;
    while (status_.ok() && written_ < layout_.units() && ready_[written_]) {
      const absl::Span<const std::byte> bytes = BytesOf(written_);
      lock.unlock();
      const absl::Status appended = writer_.Append(bytes);
      lock.lock();
      Fail(appended);
      ++written_;
      written_bytes_ += static_cast<int64_t>(bytes.size());
      progress_(written_bytes_, layout_.TotalBytes());
      changed_.notify_all();
    }
    writing_ = false;
  }

  UnitFiller filler_;
  const WeightLayout& layout_;
  TsrWriter& writer_;
  const std::function<void(int64_t, int64_t)>& progress_;
  int64_t largest_ = 0;
  std::vector<AlignedBuffer> buffers_;

  std::mutex mutex_;  // Guards all members below.
  std::condition_variable changed_;
  int next_ = 0, written_ = 0;
  bool writing_ = false;
  std::vector<bool> ready_;
  int64_t written_bytes_ = 0;
  absl::Status status_;
};

WeightEncoding EncodingOf(const WeightRecipe& recipe) { return recipe.has_tiles() ? WeightEncoding::kTiles : WeightEncoding::kPacked; }

// Opens the future file like a run: a model that runs from GGUF must be the same model from the packed file.
absl::Status CheckContents(const PackPlan& plan, const ModelConfig& config, const std::string& path) {
  const std::vector<TsrAttachment>& all = plan.contents.attachments;
  std::vector<TsrReader::Attachment> attachments;
  for (const TsrAttachment& each : all) attachments.push_back({each.name, static_cast<int64_t>(each.bytes.size()), each.whole_bytes});
  const auto read = [&](absl::string_view name) -> absl::StatusOr<SharedBytes> {
    return SharedBytes(absl::c_find_if(all, [&](const TsrAttachment& each) { return each.name == name; })->bytes);
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> header, OpenHeader(attachments, read, path));
  ASSIGN_OR_RETURN(const ModelConfig packed_config, ReadModelConfig(*header));
  ASSIGN_OR_RETURN(const WeightRecipe recipe, OpenRecipe(plan.contents.layout, attachments, read, path));
  ASSIGN_OR_RETURN(const WeightLayout layout, WeightLayout::Plan(*header, packed_config, EncodingOf(recipe), recipe));
  std::vector<TsrUnit> units;
  for (int unit = 0; unit < layout.units(); ++unit) units.push_back(PackedUnit(layout, unit));
  if (packed_config == config && recipe == plan.layout.recipe() && units == plan.contents.units) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(path, ": packed form: found another configuration or other units, expected those of this file"));
}

}  // namespace

absl::StatusOr<PackPlan> PackPlan::Make(const GgufFile& file, const WeightRecipe& recipe) {
  PackPlan plan;
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  ASSIGN_OR_RETURN(plan.layout, WeightLayout::Plan(file, config, EncodingOf(recipe), recipe));
  plan.contents.layout = LayoutOf(recipe);
  for (int unit = 0; unit < plan.layout.units(); ++unit) plan.contents.units.push_back(PackedUnit(plan.layout, unit));
  ASSIGN_OR_RETURN(plan.contents.attachments, HeaderAttachments(file, recipe));
  RETURN_IF_ERROR(CheckContents(plan, config, file.path()));
  ASSIGN_OR_RETURN(plan.file_bytes, TsrWriter::FileBytes(plan.contents));
  return plan;
}

absl::StatusOr<TsrSummary> PackModel(const GgufFile& file, const PackPlan& plan, const std::string& path, ThreadPool& pool,
                                     const std::function<void(PackStage stage, int64_t done, int64_t total)>& progress,
                                     const FillOptions& options) {
  ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create(path, plan.contents));
  const std::function<void(int64_t, int64_t)> packing = [&](int64_t done, int64_t total) {
    progress(PackStage::kPacking, done, total);
  };
  {
    UnitPacker packer(file, plan.layout, options, writer, packing);
    RETURN_IF_ERROR(packer.Allocate(pool.threads()));
    pool.Run([&](int) { packer.Work(); });
    RETURN_IF_ERROR(packer.status());
  }
  return writer.Finish([&](int64_t done, int64_t total) { progress(PackStage::kVerifying, done, total); });
}

}  // namespace tessera
