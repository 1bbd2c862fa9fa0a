// The rows of a pass, laid out as graphs take them.
//
//   ASSIGN_OR_RETURN(PassRows rows, PassRows::Create(config, /*capacity=*/512));
//   RETURN_IF_ERROR(rows.Set(given, cache, /*rows_together=*/256));
//   const RunArguments arguments = rows.ArgumentsOf(layer, {begin, end});   // of the rows at these places
//   rows.Keep({0, 2});                                                      // now the places are 0 and 1, their numbers 0 and 2
//
// A row's number is its index in what Set was given; its place is its index among those that are left. Threads: one at a time.
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
  // Errors are those of RopeTable::Create.
  static absl::StatusOr<PassRows> Create(const ModelConfig& config, int capacity);

  // Takes these rows, of which a layer takes at most rows_together at a time. Memory is kept for the next ones. InvalidArgument names the
  // row and what is wrong with it; then the rows before are still there. The cache and the paths must live until the next Set.
  absl::Status Set(absl::Span<const PassRow> rows, const KvCache& cache, int rows_together);

  int size() const { return static_cast<int>(numbers_.size()); }
  absl::Span<const int> numbers() const { return numbers_; }
  absl::Span<const TokenId> tokens() const { return tokens_; }              // By place; EmbeddingTable::kNoToken: there is an embedding.
  const float* embedding(int place) const { return rows_[static_cast<size_t>(place)].embedding; }

  // The places of the rows with these numbers, valid until the next call of either. InvalidArgument ("wanted row 1: found 3, ...") unless
  // the numbers ascend and the rows are left.
  absl::StatusOr<absl::Span<const int>> PlacesOf(absl::Span<const int> numbers, const char* what);
  // All places but those with these numbers. InvalidArgument also if a row there has the slot of one of these in a path.
  absl::StatusOr<absl::Span<const int>> PlacesWithout(absl::Span<const int> numbers);
  // OK if chunks of so many rows can be computed one after the other: no row attends to one of a later chunk. Else InvalidArgument.
  absl::Status CheckChunks(int chunk_rows);

  // Leaves out all rows but these. places: ascending.
  void Keep(absl::Span<const int> places);

  // For a layer and the rows at these places. Buffers and weights are the caller's to add. Valid until the next call.
  RunArguments ArgumentsOf(int layer, Share places);

 private:
  struct Group { std::vector<int32_t> slots; std::vector<SlotPath> paths; };   // By place.
  using SlotOfRow = std::pair<int32_t, int>;   // A slot, and the place of the row that stores there.

  PassRows(const ModelConfig& config, int capacity) : config_(config), capacity_(capacity) {}
  void Fill();
  // Those of the rows in a group, into sorted_slots_.
  void SortSlots(absl::Span<const PassRow> rows, size_t group);
  // REQUIRES, both: sorted_slots_ are those of the rows in the group.
  absl::Status CheckSlotsDiffer() const;
  absl::Status CheckOrder(absl::Span<const PassRow> rows, absl::Span<const int> numbers, size_t group, int chunk_rows) const;
  absl::Status CheckUnread(absl::Span<const int> places);
  void FillAdapters(int layer, Share places);

  ModelConfig config_;
  int capacity_ = 0;
  std::vector<RopeTable> ropes_;
  const KvCache* cache_ = nullptr;
  int given_ = 0;                // Rows of the last Set.
  bool in_order_ = false;        // It is known that no row attends to one after it.

  // By place.
  std::vector<PassRow> rows_;
  std::vector<int> numbers_;
  std::vector<TokenId> tokens_;
  std::vector<Group> groups_;                     // One per group of the cache.
  std::vector<std::vector<float>> rope_values_;   // One per rope table.

  // Kept between calls to spare allocations.
  std::vector<SlotOfRow> sorted_slots_;
  std::vector<int> places_, others_;
  std::vector<const AdapterProduct*> adapters_;
  std::vector<const float*> rope_pointers_;
};

}  // namespace tessera
