// The sequences of a KV cache as a tree over the cache's slots: which sequences share which positions, and in which slot each position
// lies.
//
//   SlotTree tree(/*slots=*/4096, /*window=*/512, /*scatter_seed=*/0);
//   const SlotTree::SequenceId text = tree.NewSequence();
//   tree.MakeRoom(64);                                    // gives up old positions that no window reaches, if it must
//   tree.Extend(text, 64);
//   const SlotTree::Path path = tree.PathOf(text, 64);    // the path of the last position
//
// A slot belongs to one position of one path, and all sequences through the position share the slot. The slot is free again when the last
// of these sequences is released or truncated, or when MakeRoom gives it up. Growing sequences stay in neighbouring slots if possible
// (free_slots.h). Each call takes time for the touched nodes and slot ranges, not for positions. The tree has fewer than two nodes per
// sequence: a node with one child and without a sequence of its own is merged with the child. An unknown SequenceId is a CHECK failure.
// Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "tessera/model/internal/free_slots.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {

class SlotTree {
 public:
  using SequenceId = int;  // >= 0.
  using Path = absl::InlinedVector<SlotRange, 4>;

  // window: positions that a row attends to, the row's own included; 0: all. REQUIRES: slots >= 1, window >= 0.
  SlotTree(int slots, int window, uint64_t scatter_seed) : slots_(slots), window_(window), free_(slots, scatter_seed), nodes_(1) {}

  // Starts an empty sequence. Two trees with the same calls give the same ids.
  SequenceId NewSequence() { return Attach(kRoot); }
  // REQUIRES: 0 <= length <= Length(sequence), for Fork and all functions below.
  SequenceId Fork(SequenceId sequence, int length);
  void Truncate(SequenceId sequence, int length);
  void Release(SequenceId sequence);   // Makes no avoidable allocations.
  int Length(SequenceId sequence) const { return nodes_[NodeOf(sequence)].end(); }

  // Returns true if the tree holds all positions that the window of a next row reaches.
  bool CanExtend(SequenceId sequence) const;
  // REQUIRES: CanExtend(sequence), and 0 <= count <= free_slots().
  void Extend(SequenceId sequence, int count);
  // Makes an empty sequence `length` long, as if the positions before `held_from` were given up. REQUIRES: the sequence is empty, 0 <=
  // held_from <= FirstReached(length), and length - held_from <= free_slots().
  void Begin(SequenceId sequence, int length, int held_from);
  // Returns the first position that the row at position `length` reads. REQUIRES: 0 <= length.
  int FirstReached(int length) const;
  // Returns the first position from which on the tree holds all positions, up to the sequence's end.
  int HeldFrom(SequenceId sequence) const { return HeldFromOf(NodeOf(sequence)); }

  struct Move { int32_t from; int32_t to; };
  // Moves the positions from `length` on, which only this sequence has, to the slots right after the earlier positions, if such slots are
  // free. Returns the moves to copy; none if the positions follow already or cannot follow. Copy at once: the old slots are free now.
  std::vector<Move> Compact(SequenceId sequence, int length);

  // Returns the number of slots that are free, or hold positions that no sequence's next row reaches.
  int Room() const;
  // Makes `count` slots free. While too few are free, gives up positions that no next row reaches: the oldest first, always from the
  // sequences with the most of these positions. REQUIRES: count <= Room().
  void MakeRoom(int count);

  // Returns the first `length` positions as slot ranges in order, with neighbours merged. Given-up positions, and all positions before, are
  // one range of kNoSlot. REQUIRES: the window of row length - 1 begins after the range of kNoSlot.
  Path PathOf(SequenceId sequence, int length) const;
  // Returns the path of all positions, regardless of windows.
  Path WholePathOf(SequenceId sequence) const { return PathTo(NodeOf(sequence), Length(sequence)); }

  // Moves the contents of slots from `end` on to the first free slots, unless slots are scattered. Returns the moves to copy, at once.
  // REQUIRES: at most `end` slots are taken.
  std::vector<Move> PackBelow(int end);
  // Gives up free slots at the end for good (FreeSlots::DropEnd).
  int DropEnd(int least) { return free_.DropEnd(least); }

  int slots() const { return slots_; }   // At construction.
  int window() const { return window_; }
  int free_slots() const { return free_.count(); }
  int nodes() const { return static_cast<int>(nodes_.size() - unused_nodes_.size()) - 1; }

 private:
  // A run of positions that the same sequences share. Sequences end only where a node ends; the root, empty, stands for length 0.
  struct Node {
    int parent = -1;
    int first = 0;       // The first position.
    int count = 0;       // Positions of the node; 0 only for the root.
    int given_up = 0;    // Number of given-up positions, from the first one on.
    int sequences = 0;   // Sequences that end with this node.
    Path ranges;         // Slots of the held positions, neighbours merged.
    std::vector<int> children;
    int end() const { return first + count; }
    int held_from() const { return first + given_up; }
  };
  static constexpr int kRoot = 0;
  struct Spare { int node; int positions; };  // No window reaches the node's first `positions` held positions.

  int NodeOf(SequenceId sequence) const;
  int NodeAt(int node, int length) const;                    // Returns the node with position length - 1 on the path to `node`.
  SequenceId Attach(int node);                               // Adds a sequence that ends with the node.
  void Detach(int node);                                     // Removes one sequence; frees nodes and slots that no sequence needs any more.
  int AddNode(int parent, int first);
  void RemoveNode(int node);
  int Split(int node, int length);                           // Returns the new node, which ends at `length`; `node` follows the new node.
  int SplitAt(int node, int length);                         // Returns the node that ends at `length`, after splitting if needed.
  void MergeIntoChild(int node);
  int32_t LastSlotBefore(int node, const Path& own) const;
  int HeldFromOf(int node) const;                            // The node holds all positions from here to its end.
  Path PathTo(int node, int length) const;                   // REQUIRES: the node holds position length - 1.
  std::vector<Spare> FindSpare() const;
  int FindSpare(int node, int held_from, std::vector<Spare>& spare) const;
  void GiveUp(int node, int count);

  const int slots_;
  const int window_;
  FreeSlots free_;
  std::vector<Node> nodes_;
  std::vector<int> unused_nodes_;
  absl::flat_hash_map<SequenceId, int> node_of_sequence_;
  SequenceId next_sequence_ = 0;
};

}  // namespace tessera
