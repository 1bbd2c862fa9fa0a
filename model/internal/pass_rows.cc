#include "tessera/model/internal/pass_rows.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/embedding_table.h"
#include "tessera/model/internal/pass_check.h"

namespace tessera {
namespace {

int32_t OwnSlot(SlotPath path) { return path.back().begin + path.back().count - 1; }

template <typename T>
void KeepPlaces(absl::Span<const int> places, std::vector<T>& values) {
  for (size_t i = 0; i < places.size(); ++i) values[i] = values[static_cast<size_t>(places[i])];
  values.resize(places.size());
}

}  // namespace

absl::StatusOr<PassRows> PassRows::Create(const ModelConfig& config, int capacity) {
  PassRows rows(config, capacity);
  for (const RopeConfig& rope : config.ropes) {
    ASSIGN_OR_RETURN(RopeTable table, RopeTable::Create(rope));
    rows.ropes_.push_back(std::move(table));
    rows.rope_values_.emplace_back(static_cast<size_t>(capacity) * static_cast<size_t>(rope.dimensions));
  }
  return rows;
}

absl::Status PassRows::Set(absl::Span<const PassRow> rows, const KvCache& cache, int rows_together) {
  RETURN_IF_ERROR(CheckPassRows(rows, config_, cache, capacity_));
  const bool in_chunks = rows.size() > static_cast<size_t>(rows_together);
  for (size_t group = 0; group < static_cast<size_t>(cache.groups()); ++group) {
    SortSlots(rows, group);
    RETURN_IF_ERROR(CheckSlotsDiffer());
    if (in_chunks) RETURN_IF_ERROR(CheckOrder(rows, /*numbers=*/{}, group, rows_together));
  }
  cache_ = &cache;
  given_ = static_cast<int>(rows.size());
  in_order_ = in_chunks;
  rows_.assign(rows.begin(), rows.end());
  numbers_.resize(rows.size());
  std::iota(numbers_.begin(), numbers_.end(), 0);
  Fill();
  return absl::OkStatus();
}

void PassRows::Fill() {
  tokens_.clear();
  for (const PassRow& row : rows_) tokens_.push_back(row.embedding == nullptr ? row.token : EmbeddingTable::kNoToken);
  groups_.resize(static_cast<size_t>(cache_->groups()));
  for (size_t group = 0; group < groups_.size(); ++group) {
    auto& [slots, paths] = groups_[group];
    slots.clear();
    paths.clear();
    for (const PassRow& row : rows_) {
      slots.push_back(OwnSlot(row.paths[group]));
      paths.push_back(row.paths[group]);
    }
  }
  for (size_t t = 0; t < ropes_.size(); ++t) {
    const size_t dimensions = static_cast<size_t>(ropes_[t].dimensions());
    for (size_t r = 0; r < rows_.size(); ++r) {
      const bool own = rows_[r].position == PassRow::kOwnPosition;
      ropes_[t].Fill(own ? static_cast<int32_t>(PathLength(rows_[r].paths[0])) - 1 : rows_[r].position,
                     absl::MakeSpan(rope_values_[t].data() + r * dimensions, dimensions));
    }
  }
}

void PassRows::SortSlots(absl::Span<const PassRow> rows, size_t group) {
  sorted_slots_.clear();
  for (size_t r = 0; r < rows.size(); ++r) sorted_slots_.push_back({OwnSlot(rows[r].paths[group]), static_cast<int>(r)});
  std::sort(sorted_slots_.begin(), sorted_slots_.end());
}

// Checks that no two rows store to one slot: the last row would win, or either row, depending on the threads.
absl::Status PassRows::CheckSlotsDiffer() const {
  const auto twice = std::adjacent_find(sorted_slots_.begin(), sorted_slots_.end(),
                                        [](const SlotOfRow& a, const SlotOfRow& b) { return a.first == b.first; });
  if (twice == sorted_slots_.end()) return absl::OkStatus();
  return RowError(twice[1].second, "slot", twice->first, absl::StrCat("another than that of row ", twice->second));
}

absl::Status PassRows::CheckChunks(int chunk_rows) {
  if (size() <= chunk_rows || in_order_) return absl::OkStatus();
  for (size_t group = 0; group < groups_.size(); ++group) {
    SortSlots(rows_, group);
    RETURN_IF_ERROR(CheckOrder(rows_, numbers_, group, chunk_rows));
  }
  in_order_ = true;
  return absl::OkStatus();
}

// A chunk stores its keys and values before its rows attend to any. Keys and values of later chunks are not there yet, so no row may attend
// to later chunks. Slots that a path shares with the path of the preceding row were checked with the preceding row. numbers: empty if the
// rows' numbers are the places.
absl::Status PassRows::CheckOrder(absl::Span<const PassRow> rows, absl::Span<const int> numbers, size_t group, int chunk_rows) const {
  const auto number_of = [&](int place) { return numbers.empty() ? place : numbers[static_cast<size_t>(place)]; };
  SlotPath before;
  for (int r = 0; r < static_cast<int>(rows.size()); ++r) {
    const SlotPath path = rows[static_cast<size_t>(r)].paths[group];
    const size_t same = static_cast<size_t>(std::mismatch(path.begin(), path.end(), before.begin(), before.end()).first - path.begin());
    for (size_t i = same; i < path.size(); ++i) {
      if (path[i].begin == kNoSlot) continue;
      const bool longer = i == same && same < before.size() && before[i].begin == path[i].begin && before[i].count < path[i].count;
      const int32_t begin = path[i].begin, end = begin + path[i].count;
      auto stored = std::lower_bound(sorted_slots_.begin(), sorted_slots_.end(), SlotOfRow(begin + (longer ? before[i].count : 0), 0));
      for (; stored != sorted_slots_.end() && stored->first < end; ++stored) {
        if (stored->second <= r) continue;
        return RowError(number_of(r), "slot of its path", stored->first,
                        absl::StrCat("no slot of a row after it, as of row ", number_of(stored->second), ", in a pass of more than ",
                                     chunk_rows));
      }
    }
    before = path;
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const int>> PassRows::PlacesOf(absl::Span<const int> numbers, const char* what) {
  places_.clear();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int number = numbers[i], least = i == 0 ? 0 : numbers[i - 1] + 1;
    if (number < least || number >= given_) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " row ", i, ": found ", number, ", expected ", least, " to ", given_ - 1, ", in ascending order"));
    }
    const auto place = std::lower_bound(numbers_.begin(), numbers_.end(), number);
    if (place == numbers_.end() || *place != number) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " row ", i, ": found ", number, ", which is dropped, expected one of the ", size(), " that are left"));
    }
    places_.push_back(static_cast<int>(place - numbers_.begin()));
  }
  return absl::MakeConstSpan(places_);
}

absl::StatusOr<absl::Span<const int>> PassRows::PlacesWithout(absl::Span<const int> numbers) {
  ASSIGN_OR_RETURN(const absl::Span<const int> dropped, PlacesOf(numbers, "dropped"));
  RETURN_IF_ERROR(CheckUnread(dropped));
  others_.clear();
  for (int place = 0; place < size(); ++place) {
    if (!std::binary_search(dropped.begin(), dropped.end(), place)) others_.push_back(place);
  }
  return absl::MakeConstSpan(others_);
}

absl::Status PassRows::CheckUnread(absl::Span<const int> places) {
  for (const Group& group : groups_) {
    sorted_slots_.clear();
    for (const int place : places) sorted_slots_.push_back({group.slots[static_cast<size_t>(place)], place});
    std::sort(sorted_slots_.begin(), sorted_slots_.end());
    for (int reader = 0; reader < size(); ++reader) {
      if (std::binary_search(places.begin(), places.end(), reader)) continue;
      for (const SlotRange& range : group.paths[static_cast<size_t>(reader)]) {
        const auto read = std::lower_bound(sorted_slots_.begin(), sorted_slots_.end(), SlotOfRow(range.begin, 0));
        if (range.begin == kNoSlot || read == sorted_slots_.end() || read->first - range.begin >= range.count) continue;
        return absl::InvalidArgumentError(absl::StrCat("dropped row ", numbers_[static_cast<size_t>(read->second)], ": found row ",
                                                       numbers_[static_cast<size_t>(reader)], ", which reads it, expected no reader left"));
      }
    }
  }
  return absl::OkStatus();
}

void PassRows::Keep(absl::Span<const int> places) {
  KeepPlaces(places, rows_);
  KeepPlaces(places, numbers_);
  KeepPlaces(places, tokens_);
  for (auto& [slots, paths] : groups_) {
    KeepPlaces(places, slots);
    KeepPlaces(places, paths);
  }
  for (size_t t = 0; t < ropes_.size(); ++t) {
    const int dimensions = ropes_[t].dimensions();
    float* const values = rope_values_[t].data();
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t from = places[static_cast<size_t>(i)];
      if (from != i) std::copy_n(values + from * dimensions, dimensions, values + i * dimensions);
    }
  }
}

// Stays empty if no row has an adapter: no product then looks for adapters.
void PassRows::FillAdapters(int layer, Share places) {
  adapters_.clear();
  const auto some = absl::MakeConstSpan(rows_).subspan(static_cast<size_t>(places.begin), static_cast<size_t>(places.end - places.begin));
  const bool any = std::any_of(some.begin(), some.end(), [](const PassRow& row) { return row.adapter != nullptr; });
  if (!any) return;
  for (const PassRow& row : some) adapters_.push_back(row.adapter == nullptr ? nullptr : row.adapter->Layer(layer).data());
}

RunArguments PassRows::ArgumentsOf(int layer, Share places) {
  const size_t begin = static_cast<size_t>(places.begin), count = static_cast<size_t>(places.end - places.begin);
  RunArguments arguments;
  arguments.rows = static_cast<int>(count);
  arguments.first_row = static_cast<int>(begin);
  rope_pointers_.clear();
  for (size_t t = 0; t < ropes_.size(); ++t) rope_pointers_.push_back(rope_values_[t].data() + places.begin * ropes_[t].dimensions());
  arguments.rope_tables = rope_pointers_;
  FillAdapters(layer, places);
  arguments.adapters = adapters_;
  const Group& group = groups_[static_cast<size_t>(cache_->GroupOf(layer))];
  arguments.slots = absl::MakeConstSpan(group.slots).subspan(begin, count);
  arguments.paths = absl::MakeConstSpan(group.paths).subspan(begin, count);
  arguments.kv = cache_->View(layer);
  return arguments;
}

}  // namespace tessera
