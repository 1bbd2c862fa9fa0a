#include "tessera/runtime/engine/adapter_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {

int AdapterCache::Add(Source source) {
  entries_.push_back({.source = std::move(source)});
  return size() - 1;
}

void AdapterCache::Replace(int number, Source source) {
  CHECK(number >= 0 && number < size() && !IsLeased(number)) << number;
  Entry& entry = entries_[static_cast<size_t>(number)];
  if (entry.adapter != nullptr) bytes_ -= entry.adapter->bytes();
  entry = {.source = std::move(source)};
}

void AdapterCache::SetBytes(int number, int64_t bytes) {
  CHECK(number >= 0 && number < size() && !IsInMemory(number)) << number;
  entries_[static_cast<size_t>(number)].source.bytes = bytes;
}

// A lease that ends on another thread meanwhile is seen by the next call.
absl::Status AdapterCache::MakeRoom(const Entry& entry) {
  if (entry.source.bytes > options_.most_bytes) {
    return absl::FailedPreconditionError(absl::StrCat("adapter ", Quoted(entry.source.name), ": found ",
                                                      FormatByteSize(options_.most_bytes), " for adapters, expected room for ",
                                                      FormatByteSize(entry.source.bytes)));
  }
  while (bytes_ > options_.most_bytes - entry.source.bytes) {
    Entry* oldest = nullptr;
    for (Entry& other : entries_) {
      if (other.adapter == nullptr || other.adapter.use_count() > 1) continue;
      if (oldest == nullptr || other.last_used < oldest->last_used) oldest = &other;
    }
    if (oldest == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "adapter ", Quoted(entry.source.name), ": found ", FormatByteSize(options_.most_bytes), " for adapters, of which ",
          FormatByteSize(bytes_), " are in use, expected room for ", FormatByteSize(entry.source.bytes), " beside them"));
    }
    if (oldest->sum.empty()) oldest->sum = SumOf(*oldest->adapter);
    bytes_ -= oldest->adapter->bytes();
    oldest->adapter = nullptr;
    ++stats_.evictions;
  }
  return absl::OkStatus();
}

Sha256Sum AdapterCache::SumOf(const LoraAdapter& adapter) {
  const Clock& clock = GivenOrRealClock(options_.clock);
  const int64_t begin = clock.NowNanos();
  const Sha256Sum sum = adapter.Sum();
  stats_.sum_seconds += ElapsedSeconds(begin, clock.NowNanos());
  return sum;
}

absl::Status AdapterCache::Read(Entry& entry) {
  RETURN_IF_ERROR(MakeRoom(entry));
  const Clock& clock = GivenOrRealClock(options_.clock);
  const int64_t begin = clock.NowNanos();
  ASSIGN_OR_RETURN(LoraAdapter adapter, entry.source.read());
  const auto changed = [&](const char* what, const absl::AlphaNum& found, const absl::AlphaNum& expected) {
    return absl::FailedPreconditionError(absl::StrCat("adapter ", Quoted(entry.source.name), ": ", what, ": found ", found, ", expected ",
                                                      expected, ", as before: its file has changed"));
  };
  if (adapter.bytes() > entry.source.bytes) return changed("bytes", adapter.bytes(), entry.source.bytes);
  const int64_t read = clock.NowNanos();
  if (entry.id != 0) {
    const Sha256Sum sum = SumOf(adapter);
    if (sum != entry.sum) return changed("SHA-256", sum.Hex(), entry.sum.Hex());
    adapter.BecomeAgain(entry.id);
  }
  entry.id = adapter.id();
  entry.source.bytes = adapter.bytes();
  entry.adapter = std::make_shared<const LoraAdapter>(std::move(adapter));
  bytes_ += entry.source.bytes;
  ++stats_.reads;
  stats_.read_bytes += entry.source.bytes;
  stats_.read_seconds += ElapsedSeconds(begin, read);
  return absl::OkStatus();
}

absl::StatusOr<AdapterLease> AdapterCache::Lease(int number) {
  CHECK(number >= 0 && number < size()) << number;
  Entry& entry = entries_[static_cast<size_t>(number)];
  if (entry.adapter == nullptr) RETURN_IF_ERROR(Read(entry));
  entry.last_used = ++uses_;
  ++stats_.leases;
  return entry.adapter;
}

int64_t AdapterCache::LeastBytes(int texts) const {
  std::vector<int64_t> bytes;
  for (const Entry& entry : entries_) bytes.push_back(entry.source.bytes);
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  int64_t least = 0;
  for (size_t i = 0; i < bytes.size() && i < static_cast<size_t>(std::max(texts, 0)); ++i) least += bytes[i];
  return least;
}

int AdapterCache::InMemory() const {
  int count = 0;
  for (int number = 0; number < size(); ++number) count += IsInMemory(number) ? 1 : 0;
  return count;
}

bool AdapterCache::HasRoomFor(int number) const {
  return IsInMemory(number) || bytes_ <= options_.most_bytes - entries_[static_cast<size_t>(number)].source.bytes;
}

int64_t AdapterCache::MostBytes() const { return std::min(options_.most_bytes, LeastBytes(size())); }

}  // namespace tessera
