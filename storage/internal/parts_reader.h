// Reads parts of units. Where blocks are trusted, only the needed pages are read; elsewhere whole blocks, to compare with their checksums.
//
//   PartsReader parts(file, checker, buffer);                     // PartsReader::kBufferBytes
//   parts.Begin(asked);
//   while (!parts.done()) { parts.Start(reader); /* ... */ parts.Finish(id, status); }
//   parts.status(); parts.Bytes(0);                               // of asked[0]
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/block_checker.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class PartsReader {
 public:
  static constexpr int kStagedBlocks = 3;
  static constexpr int64_t kPlaceBytes = WeightSource::kMostPartBytes + WeightSource::kMostParts * 2 * kTsrPage;
  static constexpr int64_t kBufferBytes = kStagedBlocks * kTsrBlockBytes + kPlaceBytes;

  // REQUIRES: buffer.size() == kBufferBytes, aligned for a BlockDevice; all arguments outlive the reader.
  PartsReader(const TsrReader& file, const BlockChecker& checker, absl::Span<std::byte> buffer);

  // Begins new parts and forgets the parts before. REQUIRES: done(), and the requirements of WeightSource::AcquireParts.
  void Begin(absl::Span<const UnitPart> parts);
  // Starts as many reads as there is room for: extents with the ids 0, 1, 2, ... .
  void Start(BlockReader& reader, uint64_t first_id);
  void Finish(int64_t job, const absl::Status& status);
  int64_t JobBytes(int64_t job) const { return jobs_[job].end - jobs_[job].begin; }   // Read for the job.

  bool done() const { return finished_ == started_ && (started_ == jobs_.size() || !status_.ok()); }
  const absl::Status& status() const { return status_; }  // The first error.
  absl::Span<const std::byte> Bytes(size_t part) const;   // REQUIRES: done(), and no error.
  bool Owns(const std::byte* place) const { return place >= buffer_.data() && place < buffer_.data() + buffer_.size(); }

 private:
  struct Place {               // A part, and the whole pages around it.
    UnitPart part;
    int64_t begin, end;        // In its unit.
    std::byte* data;           // `begin` is read to this address.
  };
  struct Job {
    int unit;
    int64_t begin, end;        // In its unit: the bytes to read.
    std::vector<size_t> places;
    int staged = -1;           // The staging block, if the job reads a whole block for several places.
    bool whole = false;
  };
  void AddJobs(size_t place);
  std::byte* Staged(int block) const { return buffer_.data() + block * kTsrBlockBytes; }

  const TsrReader& file_;
  const BlockChecker& checker_;
  const absl::Span<std::byte> buffer_;
  std::vector<Place> places_;
  std::vector<Job> jobs_;
  std::vector<int> free_staged_;
  size_t started_ = 0, finished_ = 0;
  absl::Status status_;
};

}  // namespace tessera
