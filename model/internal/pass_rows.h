// The rows of a pass, in the layout that graphs take.
//
//   ASSIGN_OR_RETURN(PassRows rows, PassRows::Create(config, /*capacity=*/512));
//   RETURN_IF_ERROR(rows.Set(given, cache, /*rows_together=*/256));
//   const RunArguments arguments = rows.ArgumentsOf(layer, {begin, end});   // of the rows at these places
//   rows.Keep({0, 2});                                                      // now the places are 0 and 1, their numbers 0 and 2
//
// A row's number is the row's index in the argument of Set; a row's place is the row's index among the remaining rows. Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/pass.h"
#include "tessera/npu/device.h"
#include "tessera/tensor/rope.h"

namespace tessera {

class PassRows {
 public:
  // Returns the errors of RopeTable::Create.
  static absl::StatusOr<PassRows> Create(const ModelConfig& config, int capacity);

  // Replaces the rows. A layer takes at most rows_together rows at a time. Memory is kept for the next Set. Returns InvalidArgument (row,
  // found, expected); the previous rows then remain. The cache and the paths must live until the next Set.
  absl::Status Set(absl::Span<const PassRow> rows, const KvCache& cache, int rows_together);

  int size() const { return static_cast<int>(numbers_.size()); }
  absl::Span<const int> numbers() const { return numbers_; }
  absl::Span<const TokenId> tokens() const { return tokens_; }              // By place; EmbeddingTable::kNoToken: the row has an embedding.
  const float* embedding(int place) const { return rows_[static_cast<size_t>(place)].embedding; }

  // Returns the places of the rows with these numbers, valid until the next call of PlacesOf or PlacesWithout. Returns InvalidArgument
  // ("wanted row 1: found 3, ...") unless the numbers ascend and the rows remain.
  absl::StatusOr<absl::Span<const int>> PlacesOf(absl::Span<const int> numbers, const char* what);
  // Returns all places except the places of these numbers. Also returns InvalidArgument if a row at a returned place has the slot of one of
  // `numbers` in a path.
  absl::StatusOr<absl::Span<const int>> PlacesWithout(absl::Span<const int> numbers);
  // Returns OK if chunks of `chunk_rows` rows can be computed one after the other: no row attends to a row of a later chunk. Otherwise
  // InvalidArgument.
  absl::Status CheckChunks(int chunk_rows);

  // Drops all rows except the rows at these places. places: ascending.
  void Keep(absl::Span<const int> places);

  // Returns the arguments of a layer for the rows at these places. The caller adds buffers and weights. Valid until the next call.
  RunArguments ArgumentsOf(int layer, Share places);

 private:
  struct Group { std::vector<int32_t> slots; std::vector<SlotPath> paths; };   // By place.
  using SlotOfRow = std::pair<int32_t, int>;   // A slot, and the place of the row that stores there.

  PassRows(const ModelConfig& config, int capacity) : config_(config), capacity_(capacity) {}
  void Fill();
  // Sorts the slots of the rows in a group into sorted_slots_.
  void SortSlots(absl::Span<const PassRow> rows, size_t group);
  // REQUIRES, for CheckSlotsDiffer and CheckOrder: sorted_slots_ are the slots of the rows in the group.
  absl::Status CheckSlotsDiffer() const;
  absl::Status CheckOrder(absl::Span<const PassRow> rows, absl::Span<const int> numbers, size_t group, int chunk_rows) const;
  absl::Status CheckUnread(absl::Span<const int> places);
  void FillAdapters(int layer, Share places);

  ModelConfig config_;
  int capacity_ = 0;
  std::vector<RopeTable> ropes_;
  const KvCache* cache_ = nullptr;
  int given_ = 0;                // Rows of the last Set.
  bool in_order_ = false;        // Checked: no row attends to a later row.

  // By place.
  std::vector<PassRow> rows_;
  std::vector<int> numbers_;
  std::vector<TokenId> tokens_;
  std::vector<Group> groups_;                     // One per group of the cache.
  std::vector<std::vector<float>> rope_values_;   // One per rope table.

  // Kept between calls to avoid allocations.
  std::vector<SlotOfRow> sorted_slots_;
  std::vector<int> places_, others_;
  std::vector<const AdapterProduct*> adapters_;
  std::vector<const float*> rope_pointers_;
};

}  // namespace tessera
