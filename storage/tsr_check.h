// Looks for all damage in a .tsr file. Ordinary reading stops at the first damage.
//
//   for (const TsrDamage& damage : FindDamage(*reader, pool, [](int64_t done, int64_t total) {})) Show(damage.status);
//
// Reads both manifests, all attachments and every block of every unit once, with all threads of the pool. Blocks are also compared with
// their SHA-256: a file made on purpose may combine right checksums with another file's sums. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tessera/base/thread_pool.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

struct TsrDamage {
  int unit = -1;        // -1: not in a unit.
  int64_t offset = -1;  // In the file, of the block; -1: see the status.
  absl::Status status = {};
};

// Returns the damage in order of place. progress: called on this thread, with bytes read so far and in all.
std::vector<TsrDamage> FindDamage(const TsrReader& reader, ThreadPool& pool,
                                  const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace tessera
