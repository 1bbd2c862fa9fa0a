// The keys and values of every position a model has seen: memory in slots, and a tree of sequences that share their beginnings.
//
//   ASSIGN_OR_RETURN(auto cache, KvCache::Create({.layers = 30, .heads = 3, .head_size = 64, .slots = 4096}));
//   const KvCache::SequenceId text = cache->NewSequence();
//   std::vector<int32_t> slots;
//   RETURN_IF_ERROR(cache->Extend(text, prompt_length, &slots));              // slots[i]: where position i is stored
//   const KvCache::Path path = cache->PathOf(text, i + 1);                    // what row i may attend to, itself included
//   arguments.kv = cache->View(first_layer);
//
// A draft is a fork, which copies nothing: each node of a draft tree is the fork of its parent, one position longer.
//
//   ASSIGN_OR_RETURN(const KvCache::SequenceId draft, cache->Fork(text, cache->Length(text)));
//   RETURN_IF_ERROR(cache->Extend(draft, 1, &slots));
//   cache->Release(text);                                                     // accepts the draft: its path is the text now
//
// A slot belongs to one position of one path, is shared by all sequences that go through it, and is free again when the last of
// them is released or truncated. What a slot held is not erased: a row must be stored before a path reads it. Growing sequences
// stay in neighbouring slots where they can (model/internal/free_slots.h). Each call costs the nodes and slot ranges it touches,
// never the positions, but for the numbers that Extend hands out; there are fewer than two nodes a sequence, since a node that
// only one child still needs becomes one with it. An unknown SequenceId is a CHECK failure.
// Threads: one at a time; views and paths are values and may be read elsewhere while no slot of theirs is given up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {

class FreeSlots;

class KvCache {
 public:
  struct Options {
    int layers = 0;
    int heads = 0;      // Of keys and values, not of queries.
    int head_size = 0;
    int slots = 0;      // Rounded up to a multiple of 16; all of them can be used.
    KvFormat format = KvFormat::kHalf;
    uint64_t scatter_seed = 0;  // Other than 0: slots come in a random order, to test that nobody relies on neighbours.
  };

  // Memory is zeroed, and physically backed only once written. InvalidArgument names the option that is not positive (or the
  // slots that are too many to number), found and expected; OutOfRange if the bytes do not fit in 63 bits; ResourceExhausted,
  // with the bytes, if the system has none to give.
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const Options& options);
  // bytes() of such a cache, or the error of making it.
  static absl::StatusOr<int64_t> BytesFor(const Options& options);
  ~KvCache();

  // Layer 0 of the view is `first_layer`. Valid while the cache lives. REQUIRES: 0 <= first_layer < layers.
  KvView View(int first_layer) const;

  using SequenceId = int;  // >= 0.
  using Path = absl::InlinedVector<SlotRange, 4>;

  // An empty sequence. Every sequence is to be released in the end, or its slots stay taken.
  SequenceId NewSequence();

  // A sequence that shares the first `length` positions of this one. InvalidArgument (found and expected) unless
  // 0 <= length <= Length(sequence).
  absl::StatusOr<SequenceId> Fork(SequenceId sequence, int length);

  // Makes the sequence `count` positions longer and appends their slots, in order, to *slots. ResourceExhausted (slots wanted,
  // free and in all) changes nothing. REQUIRES: count >= 0.
  absl::Status Extend(SequenceId sequence, int count, std::vector<int32_t>* slots);

  // Drops the positions from `length` on. REQUIRES: 0 <= length <= Length(sequence).
  void Truncate(SequenceId sequence, int length);

  // Ends the sequence; its id may come back after some two thousand million others.
  void Release(SequenceId sequence);

  int Length(SequenceId sequence) const;

  // The first `length` positions as slot ranges in order, neighbours merged. REQUIRES: 0 <= length <= Length(sequence).
  Path PathOf(SequenceId sequence, int length) const;

  int slots() const { return slots_; }
  int free_slots() const;
  int64_t bytes() const { return keys_.size() + values_.size(); }  // As allocated, touched or not.

  // Nodes of the sequence tree, which calls may have to walk: fewer than twice the sequences. For tests and reports.
  int nodes() const { return static_cast<int>(nodes_.size() - unused_nodes_.size()) - 1; }

 private:
  // A run of positions that the same sequences share. Sequences end only where a node ends; the root, empty, stands for length 0.
  struct Node {
    int parent = -1;
    int first = 0;       // Its first position.
    int count = 0;       // Its positions; 0 only for the root.
    int sequences = 0;   // That end with this node.
    Path ranges;         // Its slots, neighbours merged.
    std::vector<int> children;
    int end() const { return first + count; }
  };
  static constexpr int kRoot = 0;

  KvCache(const Options& options, int slots, AlignedBuffer keys, AlignedBuffer values);

  int NodeOf(SequenceId sequence) const;
  int NodeAt(int node, int length) const;                    // The node of the path to `node` that holds position length - 1.
  SequenceId Attach(int node);                               // A new sequence that ends with the node.
  void Detach(int node);                                     // One sequence fewer; frees what nobody needs any more.
  int AddNode(int parent, int first);
  void RemoveNode(int node);
  int Split(int node, int length);                           // The new node, which ends at `length`; `node` follows it.
  int SplitAt(int node, int length);                         // The node that ends at `length` after splitting, if need be.
  void MergeIntoChild(int node);

  const Options options_;
  const int slots_;
  AlignedBuffer keys_;
  AlignedBuffer values_;
  std::unique_ptr<FreeSlots> free_;
  std::vector<Node> nodes_;
  std::vector<int> unused_nodes_;
  absl::flat_hash_map<SequenceId, int> node_of_sequence_;
  SequenceId next_sequence_ = 0;
};

}  // namespace tessera
