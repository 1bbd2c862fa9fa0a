// How long an adapter that memory does not have takes from the drive: reads of its file past the page cache, beside plain ones.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<AdapterReads> reads, AdapterReads::Create(*engine, /*rank=*/8));
//   ASSIGN_OR_RETURN(const std::optional<AdapterReads::Pair> pair, reads->Measure());
//   if (pair.has_value()) Show(pair->switch_seconds / pair->plain_seconds);
//
// Two adapters of random numbers lie as GGUF files in a folder of the cache (base/cache_folder.h), which goes with this. Memory has room
// for one of them, so that each is read when it is used: checked, laid out for kernels, and known by its content (adapter_cache.h).
// Plain reads take the same bytes of the same file in blocks of four mebibytes, past the page cache where the system allows it.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/config.h"
#include "tessera/runtime/engine/adapter_cache.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

class AdapterReads {
 public:
  // Writes the files. The errors of CacheFolder, of writing and of AdapterReader. The engine must outlive this.
  static absl::StatusOr<std::unique_ptr<AdapterReads>> Create(Engine& engine, int rank);
  ~AdapterReads();
  AdapterReads(const AdapterReads&) = delete;
  AdapterReads& operator=(const AdapterReads&) = delete;

  struct Pair { double switch_seconds = 0, plain_seconds = 0; };
  // For the adapter that memory does not have. nullopt: the file system keeps its files in memory, so nothing is read from a drive.
  absl::StatusOr<std::optional<Pair>> Measure();

  int64_t file_bytes() const { return file_bytes_; }   // One file's.

 private:
  AdapterReads(Engine& engine, std::string folder);
  absl::StatusOr<double> PlainSeconds(const std::string& path) const;
  double Now() const { return static_cast<double>(clock_.NowNanos()) * 1e-9; }

  Engine& engine_;
  const Clock& clock_;
  const std::string folder_;
  std::vector<std::string> paths_;
  std::vector<std::shared_ptr<const AdapterReader>> readers_;
  std::unique_ptr<AdapterCache> cache_;
  int64_t file_bytes_ = 0;
  int next_ = 0;
};

}  // namespace tessera
