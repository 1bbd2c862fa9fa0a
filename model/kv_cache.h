// The keys and values of the positions a model has seen: memory in slots, and a tree of sequences that share their beginnings.
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
// Layers fall into groups: layers that attend to all positions, and layers that attend to a window of the last ones. Each group has slots
// and a tree of its own (model/internal/slot_tree.h), so a row has a path in each. The group of a window has, for each of `sequences`,
// slots for the window, the rows of a pass and a block of 16, whatever the context. If that would save nothing, it has slots for all
// positions. When slots run out there, MakeRoom gives up positions that no next row's window reaches, the oldest first. So rejecting what
// the last pass added costs nothing. With one sequence, truncating by up to `largest_pass` positions costs nothing either. A sequence that
// is truncated to a length whose windows are given up can only be extended (CanExtend) after truncating it to length 0.
//
// Slots are not erased: a row must be stored before a path reads it. An unknown SequenceId is a CHECK failure. Threads: one at a time;
// views and paths are values, and other threads may read them while none of their slots is given up.
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
    int heads = 0;              // Heads of keys and values, not of queries.
    int head_size = 0;
    int slots = 0;              // Positions of all sequences together. Rounded up to a multiple of 16; all of them can be used.
    KvFormat format = KvFormat::kHalf;
    std::vector<int> windows = {};  // By layer: positions a row attends to, itself included; 0: all. Empty: all, in every layer.
    int largest_pass = 1;       // Most rows of a pass. Only groups with windows use this and the next:
    int sequences = 1;          // Most sequences at once that are longer than a window; forks of one do not count.
    uint64_t scatter_seed = 0;  // Other than 0: slots come in a random order, to test that no code relies on neighbours.
  };

  // Memory is zeroed, and physically backed only once written. When a group is half full, all of its memory is backed by large pages, which
  // are read faster. InvalidArgument names the option that is out of range, found and expected; OutOfRange if the bytes do not fit in 63
  // bits; ResourceExhausted, with the bytes, if the system has too little memory.
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const Options& options);
  // bytes() of such a cache, or the error of making it.
  static absl::StatusOr<int64_t> BytesFor(const Options& options);
  ~KvCache();

  int groups() const { return static_cast<int>(groups_.size()); }  // In ascending order of window: all positions, if any, first.
  int GroupOf(int layer) const { return places_[static_cast<size_t>(layer)].group; }

  // Layer 0 of the view is `first_layer`; the layers after it are the next ones of the same group. Valid while the cache lives.
  // REQUIRES: 0 <= first_layer < layers.
  KvView View(int first_layer) const;

  using SequenceId = int;  // >= 0.
  using Path = absl::InlinedVector<SlotRange, 4>;
  using Paths = absl::InlinedVector<Path, 2>;  // One for each group.

  // An empty sequence. Release every sequence in the end, or its slots stay taken.
  SequenceId NewSequence();

  // A sequence that shares the first `length` positions of this one. InvalidArgument (found and expected) unless
  // 0 <= length <= Length(sequence).
  absl::StatusOr<SequenceId> Fork(SequenceId sequence, int length);

  // Call this before a pass is put together: until the next call, `rows` positions can be added to sequences, and no position is given up.
  // ResourceExhausted (slots wanted, slots that are free or can be, and all slots) changes nothing.
  // REQUIRES: rows >= 0.
  absl::Status MakeRoom(int rows);

  // The largest number of rows, at most `most`, for which MakeRoom would succeed now. REQUIRES: most >= 0.
  int RoomFor(int most) const;

  // Makes the sequence `count` positions longer. ResourceExhausted (slots wanted, free and in all), or FailedPrecondition unless
  // CanExtend(sequence); either changes nothing. REQUIRES: count >= 0.
  absl::Status Extend(SequenceId sequence, int count);

  // Whether all positions that a next row reads are held. False after a Truncate or Fork to a length whose windows are given up.
  bool CanExtend(SequenceId sequence) const;

  // Drops the positions from `length` on. REQUIRES: 0 <= length <= Length(sequence).
  void Truncate(SequenceId sequence, int length);

  // Moves the contents of the positions from `length` on to the slots right after the earlier ones, where these are free, so that the
  // sequence's path has few ranges and attention reads whole blocks. Use it after a branch of a draft was accepted. It changes locality
  // alone: no bit of a result depends on it. Views and paths of this sequence become invalid. REQUIRES: 0 <= length <= Length(sequence).
  void Compact(SequenceId sequence, int length);

  // Ends the sequence; its id may come back after some two thousand million others. Allocates nothing: it works where memory has ended.
  void Release(SequenceId sequence);

  int Length(SequenceId sequence) const;

  // The path of row `length` - 1 in each group: the first `length` positions as slot ranges in order, neighbours merged, after one range of
  // kNoSlot for positions that were given up. REQUIRES: 0 <= length <= Length(sequence), and that the row was added since the last
  // MakeRoom, or that its windows are still held, which gives the same result.
  Paths PathsOf(SequenceId sequence, int length) const;

  // What a sequence holds, to keep it elsewhere and bring it back, also to another cache of the same layers, heads and format: the bytes do
  // not say in which slots they lay. Those of a position in a layer are, for each head, its key and its value, and in 8 bits their scales.
  int64_t PositionBytes() const;
  // All positions from here to the sequence's end are held in the layer.
  int HeldFrom(SequenceId sequence, int layer) const;
  // out: [count][PositionBytes()]. REQUIRES: HeldFrom(sequence, layer) <= first, and out ends within Length(sequence).
  void CopyOut(SequenceId sequence, int layer, int first, absl::Span<std::byte> out) const;
  // The same way back. REQUIRES: no other sequence shares the positions.
  void CopyIn(SequenceId sequence, int layer, int first, absl::Span<const std::byte> in);
  // Makes an empty sequence `length` long, of which `held_from` says by layer from where on there is something to copy in. Afterwards
  // HeldFrom says from where on it has slots, which are all to be filled: those that next rows read, and more where slots are free.
  // FailedPrecondition (layer, found, expected) if next rows read positions before held_from, ResourceExhausted as Extend; either changes
  // nothing. REQUIRES: held_from has an entry for each layer, 0 to length.
  absl::Status Adopt(SequenceId sequence, int length, absl::Span<const int> held_from);

  // Slots of group 0, which holds the most positions.
  int slots() const { return slots_; }   // From any thread.
  int free_slots() const;
  // Memory of all groups, as allocated, touched or not, but for what was given back. From any thread.
  int64_t bytes() const { return BytesAt(slots_); }
  // What that is once Shrink has left so many slots: a part is in whole pages.
  int64_t BytesAt(int slots) const;

  // Makes the cache smaller for good: group 0 gives the memory of its last slots back to the system, down to `least` slots or those that
  // are taken; what lies further up is moved down. What a window needs stays. Returns slots(). Changes no bit of a result. Views stay
  // valid, paths become invalid. REQUIRES: least >= 0.
  int Shrink(int least);

  // Nodes of the sequence tree, which calls may have to walk: fewer than twice the sequences. For tests and reports.
  int nodes() const;

 private:
  // Layers with one window.
  struct Group {
    int layers = 0;
    AlignedBuffer keys, values;
    std::unique_ptr<SlotTree> tree;
    bool on_large_pages = false;
  };
  struct Place { int group; int layer; };  // A layer's group, and its number there.

  KvCache(const Options& options, std::vector<Group> groups, std::vector<Place> places);
  static void UseLargePages(Group& group);   // Once it is half full.

  // Calls visit(offset, bytes) for each layer and head of group 0 with what its codes take from slot `slots` on, until one is false.
  template <typename Visit>
  bool ForEachPartBeyond(int slots, const AlignedBuffer& buffer, int64_t width, Visit visit) const;

  const Options options_;
  std::vector<Group> groups_;
  std::atomic<int> slots_;
  std::atomic<bool> keeps_memory_{false};   // The system took nothing back.
  const std::vector<Place> places_;
};

}  // namespace tessera
