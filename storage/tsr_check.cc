#include "tessera/storage/tsr_check.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "tessera/base/aligned_buffer.h"

namespace tessera {

std::vector<TsrDamage> FindDamage(const TsrReader& reader, ThreadPool& pool,
                                  const std::function<void(int64_t done, int64_t total)>& progress) {
  std::vector<TsrDamage> found;
  for (const absl::Status& status : reader.CheckManifests()) found.push_back({.status = status});
  for (const TsrReader::Attachment& attachment : reader.attachments()) {
    const absl::Status status = reader.ReadAttachment(attachment.name).status();
    if (!status.ok()) found.push_back({.status = status});
  }
  int64_t total = 0;
  for (int unit = 0; unit < reader.units(); ++unit) total += reader.StoredBytes(unit);
  std::vector<TsrDamage> of_units;
  std::mutex mutex;  // Guards of_units.
  std::atomic<int64_t> next = 0, done = 0;
  pool.Run([&](int worker) {
    std::vector<std::byte> buffer(std::min(total, kTsrBlockBytes));
    for (int64_t block = next++; block < reader.blocks(); block = next++) {
      const int unit = reader.UnitOfBlock(block);
      const int64_t begin = (block - reader.FirstBlock(unit)) * kTsrBlockBytes;
      const absl::Span<std::byte> bytes =
          absl::MakeSpan(buffer).first(std::min(kTsrBlockBytes, reader.StoredBytes(unit) - begin));
      absl::Status status = reader.ReadBlock(block, bytes);
      if (status.ok()) status = reader.CheckBlockSum(block, bytes);
      if (!status.ok()) {
        const std::lock_guard<std::mutex> lock(mutex);
        of_units.push_back({unit, reader.UnitOffset(unit) + begin, status});
      }
      done += static_cast<int64_t>(bytes.size());
      if (worker == 0) progress(done, total);
    }
  });
  progress(total, total);
  std::sort(of_units.begin(), of_units.end(), [](const TsrDamage& a, const TsrDamage& b) { return a.offset < b.offset; });
  found.insert(found.end(), of_units.begin(), of_units.end());
  return found;
}

}  // namespace tessera
