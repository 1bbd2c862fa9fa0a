// Writes .tsr files: a whole checked file, or none. Units are handed over one at a time, so the whole file need not fit in memory.
//
//   ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create("model.tsr", contents));   // what will be in it, and how large
//   for (const TsrUnit& unit : contents.units) RETURN_IF_ERROR(writer.Append(BytesOf(unit)));
//   ASSIGN_OR_RETURN(const TsrSummary summary, writer.Finish([](int64_t done, int64_t total) {}));
//
// Create takes the room on the disk, so a disk that is too small is known before any work. All data go to a temporary file next to the
// path. Finish brings the data to the disk, reads them back from there, and checks every checksum. Then the file replaces the old one. A
// process that is killed at any moment leaves the old file or the whole new one. A temporary file that is left over is removed by the next
// Create in that folder. Written data do not stay in the system's cache. Errors name the file, found and expected value. Move-only,
// thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/storage/tsr.h"

namespace tessera {

struct TsrSummary {
  TsrUuid uuid = {};
  int64_t file_bytes = 0;
  int64_t extents = -1;  // Parts of the disk that the file lies in; -1: the file system does not tell.
};

// With more extents the device is slower than it could be.
inline constexpr int64_t kTsrBytesPerExtent = int64_t{64} << 20;

class TsrWriter {
 public:
  // Begins a file. InvalidArgument (field, found, expected) for contents that a reader would refuse; ResourceExhausted if the disk is too
  // small. Contents and uuid determine the bytes.
  static absl::StatusOr<TsrWriter> Create(const std::string& path, const TsrContents& contents,
                                          const TsrUuid& uuid = RandomTsrUuid());
  // Returns the size of such a file. Errors are as for Create, but nothing is written.
  static absl::StatusOr<int64_t> FileBytes(const TsrContents& contents);
  TsrWriter(TsrWriter&& other) noexcept;
  ~TsrWriter();  // Without Finish nothing has happened.

  int64_t file_bytes() const;

  // Writes the next unit. After an error the writer can only be destroyed. REQUIRES: the unit has as many bytes as the contents say, and
  // not all units were appended before.
  absl::Status Append(absl::Span<const std::byte> unit);

  // progress: called with the bytes that were read back and their number. REQUIRES: all units were appended; the last call.
  absl::StatusOr<TsrSummary> Finish(const std::function<void(int64_t done, int64_t total)>& progress);

 private:
  struct State;
  explicit TsrWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
