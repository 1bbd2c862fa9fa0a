// Times loading an adapter from the drive: reads of the adapter's file past the page cache, compared with plain reads.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<AdapterReads> reads, AdapterReads::Create(*engine, /*rank=*/8));
//   ASSIGN_OR_RETURN(const std::optional<AdapterReads::Pair> pair, reads->Measure());
//   if (pair.has_value()) Show(pair->switch_seconds / pair->plain_seconds);
//
// Two adapters of random numbers lie as GGUF files in a folder of the cache (base/cache_folder.h). The destructor removes the folder.
// Memory has room for one adapter, so each use reads the adapter's file. A use checks the file, lays out the weights for kernels, and
// identifies the adapter by content (adapter_cache.h). Plain reads take the same bytes of the same file in blocks of four mebibytes, past
// the page cache if the system allows. Threads: one at a time.
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
  // Writes the files. Returns the errors of CacheFolder, of writing and of AdapterReader. The engine must outlive the object.
  static absl::StatusOr<std::unique_ptr<AdapterReads>> Create(Engine& engine, int rank);
  ~AdapterReads();
  AdapterReads(const AdapterReads&) = delete;
  AdapterReads& operator=(const AdapterReads&) = delete;

  struct Pair { double switch_seconds = 0, plain_seconds = 0; };
  // Measures the adapter that is not in memory. nullopt: the file system keeps files in memory, so nothing is read from a drive.
  absl::StatusOr<std::optional<Pair>> Measure();

  int64_t file_bytes() const { return file_bytes_; }   // Size of one file.

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
