#include "tessera/storage/internal/parts_reader.h"

#include <algorithm>
#include <cstring>

#include "glog/logging.h"
#include "tessera/base/checked_math.h"

namespace tessera {

PartsReader::PartsReader(const TsrReader& file, const BlockChecker& checker, absl::Span<std::byte> buffer)
    : file_(file), checker_(checker), buffer_(buffer) {
  CHECK_EQ(static_cast<int64_t>(buffer.size()), kBufferBytes);
  for (int block = 0; block < kStagedBlocks; ++block) free_staged_.push_back(block);
}

void PartsReader::Begin(absl::Span<const UnitPart> parts) {
  CHECK(done());
  CHECK_LE(parts.size(), static_cast<size_t>(WeightSource::kMostParts));
  places_.clear();
  jobs_.clear();
  started_ = finished_ = 0;
  status_ = absl::OkStatus();
  std::byte* data = Staged(kStagedBlocks);
  for (const UnitPart& part : parts) {
    CHECK(part.offset >= 0 && part.bytes > 0 && part.bytes <= file_.UnitBytes(part.unit) - part.offset) << "unit " << part.unit;
    const int64_t begin = part.offset / kTsrPage * kTsrPage, end = AlignUp(part.offset + part.bytes, kTsrPage);
    CHECK_LE(data + (end - begin), buffer_.data() + buffer_.size()) << "parts: more than " << WeightSource::kMostPartBytes << " bytes";
    places_.push_back({part, begin, end, data});
    data += end - begin;
    AddJobs(places_.size() - 1);
  }
}

// Adds a job for each block that the place touches; a block that is read whole serves all places in the block.
void PartsReader::AddJobs(size_t place) {
  const auto [part, begin, end, data] = places_[place];
  for (int64_t block = begin / kTsrBlockBytes; block * kTsrBlockBytes < end; ++block) {
    const int64_t block_begin = block * kTsrBlockBytes, block_end = std::min(block_begin + kTsrBlockBytes, file_.StoredBytes(part.unit));
    if (checker_.Trusts(part.unit, block)) {
      jobs_.push_back({part.unit, std::max(begin, block_begin), std::min(end, block_end), {place}});
      continue;
    }
    const auto same = std::find_if(jobs_.begin(), jobs_.end(), [&, unit = part.unit](const Job& job) {
      return job.whole && job.unit == unit && job.begin == block_begin;
    });
    if (same != jobs_.end()) {
      same->places.push_back(place);
    } else {
      jobs_.push_back({.unit = part.unit, .begin = block_begin, .end = block_end, .places = {place}, .whole = true});
    }
  }
}

void PartsReader::Start(BlockReader& reader, uint64_t first_id) {
  for (; started_ < jobs_.size() && status_.ok(); ++started_) {
    Job& job = jobs_[started_];
    const Place& place = places_[job.places[0]];
    std::byte* out = place.data + (job.begin - place.begin);
    if (job.whole) {
      if (free_staged_.empty()) return;
      job.staged = free_staged_.back();
      free_staged_.pop_back();
      out = Staged(job.staged);
    }
    reader.Start({.offset = file_.UnitOffset(job.unit) + job.begin,
                  .out = absl::MakeSpan(out, job.end - job.begin),
                  .id = first_id + started_});
  }
}

void PartsReader::Finish(int64_t index, const absl::Status& status) {
  const Job& job = jobs_[index];
  ++finished_;
  status_.Update(status);
  if (!job.whole) return;
  for (const size_t i : job.places) {
    const Place& place = places_[i];
    const int64_t begin = std::max(job.begin, place.begin), end = std::min(job.end, place.end);
    if (status.ok()) std::memcpy(place.data + (begin - place.begin), Staged(job.staged) + (begin - job.begin), end - begin);
  }
  free_staged_.push_back(job.staged);
}

absl::Span<const std::byte> PartsReader::Bytes(size_t part) const {
  const Place& place = places_[part];
  return {place.data + (place.part.offset - place.begin), static_cast<size_t>(place.part.bytes)};
}

}  // namespace tessera
