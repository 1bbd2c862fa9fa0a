// Stores the keys and values of computed positions: memory in slots, and a tree of sequences with shared prefixes.
//
//   ASSIGN_OR_RETURN(auto cache, KvCache::Create({.layers = 30, .heads = 3, .head_size = 64, .slots = 4096}));
//   const KvCache::SequenceId text = cache->NewSequence();
//   RETURN_IF_ERROR(cache->MakeRoom(prompt_length));                          // before a pass: its rows, of all sequences
//   RETURN_IF_ERROR(cache->Extend(text, prompt_length));
//   const KvCache::Paths paths = cache->PathsOf(text, i + 1);                 // what row i may attend to, itself included
//   arguments.kv = cache->View(first_layer);
//
// A draft is a fork, which copies nothing: each node of a draft tree is the fork of its parent, one position longer.
//
//   ASSIGN_OR_RETURN(const KvCache::SequenceId draft, cache->Fork(text, cache->Length(text)));
//   RETURN_IF_ERROR(cache->Extend(draft, 1));
//   cache->Release(text);                                                     // accepts the draft: its path is the text now
//
// Layers fall into groups: layers that attend to all positions, and layers that attend to a window of the last ones. Each group has its own
// slots and tree (model/internal/slot_tree.h), so a row has a path in each group. A windowed group has, for each of `sequences`, slots for
// the window, for the rows of a pass and for a block of 16, regardless of the context. If windows would save nothing, the group has slots
// for all positions. When a windowed group runs out of slots, MakeRoom gives up positions that no next row's window reaches, the oldest
// first. Rejecting the rows of the last pass therefore costs nothing. With one sequence, truncating by up to `largest_pass` positions costs
// nothing either. After truncation to a length whose windows are given up, a sequence cannot be extended (CanExtend) until it is truncated
// to length 0.
//
// Slots are not erased: a row must be stored before a path reads the row. An unknown SequenceId is a CHECK failure.
//
// Threads: one at a time. Views and paths are values; other threads may read a view or path while none of its slots is given up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {

class SlotTree;

class KvCache {
 public:
  struct Options {
    int layers = 0;
    int heads = 0;              // Heads of keys and values, not heads of queries.
    int head_size = 0;
    int slots = 0;              // Positions of all sequences together. Rounded up to a multiple of 16; all slots can be used.
    KvFormat format = KvFormat::kHalf;
    // By layer: positions that a row attends to, the row's own included; 0: all. Empty: all, in every layer.
    std::vector<int> windows = {};
    int largest_pass = 1;       // Maximum rows of a pass. Only groups with windows use largest_pass and sequences:
    int sequences = 1;          // Maximum sequences at once that are longer than a window; forks of one sequence do not count.
    uint64_t scatter_seed = 0;  // Other than 0: slots come in a random order, to test that no code relies on neighbours.
  };

  // Makes a cache. Memory is zeroed, and physically backed only once written. When a group is half full, large pages back all memory of the
  // group, for faster reads. Returns InvalidArgument (option, found, expected) for an option out of range; OutOfRange if the bytes do not
  // fit in 63 bits; ResourceExhausted, with the bytes, if the system has too little memory.
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const Options& options);
  // Returns bytes() of a cache with these options, or the error that Create would return.
  static absl::StatusOr<int64_t> BytesFor(const Options& options);
  ~KvCache();

  int groups() const { return static_cast<int>(groups_.size()); }  // In ascending order of window: all positions, if any, first.
  int GroupOf(int layer) const { return places_[static_cast<size_t>(layer)].group; }

  // Returns a view with `first_layer` as layer 0; the layers behind it are the next layers of the same group. Valid while the cache lives.
  // REQUIRES: 0 <= first_layer < layers.
  KvView View(int first_layer) const;

  using SequenceId = int;  // >= 0.
  using Path = absl::InlinedVector<SlotRange, 4>;
  using Paths = absl::InlinedVector<Path, 2>;  // One per group.

  // Starts an empty sequence. Release every sequence in the end, or the sequence's slots stay taken.
  SequenceId NewSequence();

  // Starts a sequence that shares the first `length` positions of `sequence`. Returns InvalidArgument (found and expected) unless 0 <=
  // length <= Length(sequence).
  absl::StatusOr<SequenceId> Fork(SequenceId sequence, int length);

  // Reserves room: until the next call, `rows` positions can be added to sequences, and no position is given up. Call MakeRoom before
  // building a pass. ResourceExhausted (slots wanted, slots that are free or can become free, and all slots) changes nothing. REQUIRES:
  // rows >= 0.
  absl::Status MakeRoom(int rows);

  // Returns the largest number of rows, at most `most`, for which MakeRoom would succeed now. REQUIRES: most >= 0.
  int RoomFor(int most) const;

  // Makes the sequence `count` positions longer. Returns ResourceExhausted (slots wanted, free and in all), or FailedPrecondition unless
  // CanExtend(sequence). Either error changes nothing. REQUIRES: count >= 0.
  absl::Status Extend(SequenceId sequence, int count);

  // Returns true if the cache holds all positions that a next row reads. False after a Truncate or Fork to a length whose windows are given
  // up.
  bool CanExtend(SequenceId sequence) const;

  // Drops the positions from `length` on. REQUIRES: 0 <= length <= Length(sequence).
  void Truncate(SequenceId sequence, int length);

  // Moves the contents of the positions from `length` on to the slots right after the earlier positions, if such slots are free. The
  // sequence's path then has few ranges, and attention reads whole blocks. Use Compact after a branch of a draft was accepted. Compact
  // changes locality alone: no bit of a result changes. Views and paths of this sequence become invalid. REQUIRES: 0 <= length <=
  // Length(sequence).
  void Compact(SequenceId sequence, int length);

  // Ends the sequence. The id may return after some two thousand million other sequences. Allocates nothing, so Release works when memory
  // is exhausted.
  void Release(SequenceId sequence);

  int Length(SequenceId sequence) const;

  // Returns the path of row `length` - 1 in each group: the first `length` positions as slot ranges in order, with neighbours merged. One
  // range of kNoSlot comes first, for positions that were given up. REQUIRES: 0 <= length <= Length(sequence). The row was added since the
  // last MakeRoom, or the row's windows are still held, with the same result.
  Paths PathsOf(SequenceId sequence, int length) const;

  // Returns the bytes of one position in one layer. CopyOut saves a sequence's positions, and CopyIn restores the positions, also in
  // another cache of the same layers, heads and format. The bytes do not depend on slots. The bytes of a position in a layer are, for each
  // head, the key, the value and, in 8 bits, the scales of both.
  int64_t PositionBytes() const;
  // Returns the first position from which on the layer holds all positions, up to the sequence's end.
  int HeldFrom(SequenceId sequence, int layer) const;
  // Copies `count` positions out. out: [count][PositionBytes()]. REQUIRES: HeldFrom(sequence, layer) <= first, and out ends within
  // Length(sequence).
  void CopyOut(SequenceId sequence, int layer, int first, absl::Span<std::byte> out) const;
  // Copies positions in, from the layout of CopyOut. REQUIRES: no other sequence shares the positions.
  void CopyIn(SequenceId sequence, int layer, int first, absl::Span<const std::byte> in);
  // Makes an empty sequence `length` long. held_from, by layer: the first position that the caller can copy in. Afterwards HeldFrom returns
  // the first position with a slot. Slots exist for the positions that next rows read, and for earlier positions from held_from on while
  // slots are free. The caller must fill all slots by CopyIn, from HeldFrom to `length`. Returns FailedPrecondition (layer, found,
  // expected) if next rows read positions before held_from; ResourceExhausted like Extend. Either error changes nothing. REQUIRES:
  // held_from has an entry for each layer, 0 to length.
  absl::Status Adopt(SequenceId sequence, int length, absl::Span<const int> held_from);

  // Slots of group 0, which holds the most positions.
  int slots() const { return slots_; }   // From any thread.
  int free_slots() const;
  // Returns the memory of all groups, as allocated, touched or not, without the memory that Shrink gave back. From any thread.
  int64_t bytes() const { return BytesAt(slots_); }
  // Returns bytes() after Shrink leaves `slots` slots; memory is given back in whole pages.
  int64_t BytesAt(int slots) const;

  // Makes the cache smaller for good. Group 0 gives the memory of its last slots back to the system, down to `least` slots or to the number
  // of taken slots. Positions further up are moved down. Windows keep all needed memory. Returns slots(). Changes no bit of a result. Views
  // stay valid, paths become invalid. REQUIRES: least >= 0.
  int Shrink(int least);

  // Returns the nodes of the sequence tree, which calls may have to walk: fewer than twice the sequences. For tests and reports.
  int nodes() const;

 private:
  // Layers with one window size.
  struct Group {
    int layers = 0;
    AlignedBuffer keys, values;
    std::unique_ptr<SlotTree> tree;
    bool on_large_pages = false;
  };
  struct Place { int group; int layer; };  // A layer's group, and the layer's number in the group.

  KvCache(const Options& options, std::vector<Group> groups, std::vector<Place> places);
  static void UseLargePages(Group& group);   // Called once the group is half full.

  // Calls visit(offset, bytes) for each layer and head of group 0 with the codes from slot `slots` on, until a call returns false.
  template <typename Visit>
  bool ForEachPartBeyond(int slots, const AlignedBuffer& buffer, int64_t width, Visit visit) const;

  const Options options_;
  std::vector<Group> groups_;
  std::atomic<int> slots_;
  std::atomic<bool> keeps_memory_{false};   // The system took no memory back.
  const std::vector<Place> places_;
};

}  // namespace tessera
