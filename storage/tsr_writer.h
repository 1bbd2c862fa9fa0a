// Writes .tsr files: all of one, checked, or none. Units are handed over one at a time, so the whole never has to fit in memory.
//
//   ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create("model.tsr", contents));   // what will be in it, and how large
//   for (const TsrUnit& unit : contents.units) RETURN_IF_ERROR(writer.Append(BytesOf(unit)));
//   ASSIGN_OR_RETURN(const TsrSummary summary, writer.Finish([](int64_t done, int64_t total) {}));
//
// Create takes the room on the disk, so a disk that is too small is known before any work. All goes to a temporary file beside
// the path; Finish brings it to the disk, reads it back from there, checks every checksum, and puts it in the place of what was
// there. A process that is killed at any moment leaves the old file or the whole new one, and perhaps the temporary file, which
// the next Create in that folder removes. What is written does not stay in the system's cache. Errors name the file, what was
// found and what expected. Move-only, thread-compatible.
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
  int64_t extents = -1;  // Pieces of the disk that the file lies in; -1: the file system does not tell.
};

// With more the device is slower than it could be.
inline constexpr int64_t kTsrBytesPerExtent = int64_t{64} << 20;

class TsrWriter {
 public:
  // InvalidArgument (field, found, expected) for contents that a reader would refuse; ResourceExhausted if the disk is too small.
  // The same contents and uuid give the same bytes.
  static absl::StatusOr<TsrWriter> Create(const std::string& path, const TsrContents& contents,
                                          const TsrUuid& uuid = RandomTsrUuid());
  // How large such a file is. The same errors, but nothing is written.
  static absl::StatusOr<int64_t> FileBytes(const TsrContents& contents);
  TsrWriter(TsrWriter&& other) noexcept;
  ~TsrWriter();  // Without Finish nothing has happened.

  int64_t file_bytes() const;

  // The next unit. After an error the writer can only be given up. REQUIRES: as many bytes as the contents said; no unit is
  // missing at the end.
  absl::Status Append(absl::Span<const std::byte> unit);

  // progress: called with the bytes that were read back and their number. REQUIRES: all units were appended; the last call.
  absl::StatusOr<TsrSummary> Finish(const std::function<void(int64_t done, int64_t total)>& progress);

 private:
  struct State;
  explicit TsrWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
