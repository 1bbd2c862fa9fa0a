// The sequences of a KV cache as a tree over its slots: which sequences share which positions, and in which slot each position lies.
//
//   SlotTree tree(/*slots=*/4096, /*window=*/512, /*scatter_seed=*/0);
//   const SlotTree::SequenceId text = tree.NewSequence();
//   tree.MakeRoom(64);                                    // gives up old positions that no window reaches, if it must
//   tree.Extend(text, 64);
//   const SlotTree::Path path = tree.PathOf(text, 64);    // the path of the last position
//
// A slot belongs to one position of one path, is shared by all sequences that go through it, and is free again when the last of
// them is released or truncated, or when MakeRoom gives it up. Growing sequences stay in neighbouring slots where they can
// (free_slots.h). Each call takes time for the nodes and slot ranges it touches, not for positions. There are fewer than two nodes per
// sequence, since a node with one child and no sequence of its own is merged with the child. An unknown SequenceId is a CHECK failure.
// Thread-compatible.
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

  // window: positions a row attends to, itself included; 0: all. REQUIRES: slots >= 1, window >= 0.
  SlotTree(int slots, int window, uint64_t scatter_seed) : slots_(slots), window_(window), free_(slots, scatter_seed), nodes_(1) {}

  // Two trees that get the same calls give the same ids.
  SequenceId NewSequence() { return Attach(kRoot); }
  // REQUIRES: 0 <= length <= Length(sequence), here and below.
  SequenceId Fork(SequenceId sequence, int length);
  void Truncate(SequenceId sequence, int length);
  void Release(SequenceId sequence);   // Allocates nothing that it cannot do without.
  int Length(SequenceId sequence) const { return nodes_[NodeOf(sequence)].end(); }

  // Whether all positions are held that the window of a next row reaches.
  bool CanExtend(SequenceId sequence) const;
  // REQUIRES: CanExtend(sequence), and 0 <= count <= free_slots().
  void Extend(SequenceId sequence, int count);
  // Makes an empty sequence `length` long, as if the positions before `held_from` were given up. REQUIRES: it is empty, 0 <= held_from <=
  // FirstReached(length), and length - held_from <= free_slots().
  void Begin(SequenceId sequence, int length, int held_from);
  // The first position that the row at position `length` reads. REQUIRES: 0 <= length.
  int FirstReached(int length) const;
  // All positions from here to the sequence's end are held.
  int HeldFrom(SequenceId sequence) const { return HeldFromOf(NodeOf(sequence)); }

  struct Move { int32_t from; int32_t to; };
  // Gives the positions from `length` on, which only this sequence has, the slots right after the earlier ones, as far as these are free.
  // Returns what has to be copied; nothing if they follow already or cannot. Copy at once: the old slots are free now.
  std::vector<Move> Compact(SequenceId sequence, int length);

  // The number of slots that are free, or hold positions that no sequence's next row reaches.
  int Room() const;
  // Makes `count` slots free: while there are fewer, it gives up such positions, the oldest first, always from the sequences that hold the
  // most of them. REQUIRES: count <= Room().
  void MakeRoom(int count);

  // The first `length` positions as slot ranges in order, neighbours merged. Positions that were given up, and all before them, are one
  // range of kNoSlot. REQUIRES: the window of row length - 1 begins after that range.
  Path PathOf(SequenceId sequence, int length) const;
  // The same of all positions, whatever windows reach.
  Path WholePathOf(SequenceId sequence) const { return PathTo(NodeOf(sequence), Length(sequence)); }

  // Moves what lies at slots from `end` on to the first free ones, unless slots are scattered. Returns what has to be copied, at once.
  // REQUIRES: no more slots are taken than `end`.
  std::vector<Move> PackBelow(int end);
  // Gives up free slots at the end for good (FreeSlots::DropEnd).
  int DropEnd(int least) { return free_.DropEnd(least); }

  int slots() const { return slots_; }   // At the beginning.
  int window() const { return window_; }
  int free_slots() const { return free_.count(); }
  int nodes() const { return static_cast<int>(nodes_.size() - unused_nodes_.size()) - 1; }

 private:
  // A run of positions that the same sequences share. Sequences end only where a node ends; the root, empty, stands for length 0.
  struct Node {
    int parent = -1;
    int first = 0;       // Its first position.
    int count = 0;       // Its positions; 0 only for the root.
    int given_up = 0;    // How many of them, the first ones, are given up.
    int sequences = 0;   // Sequences that end with this node.
    Path ranges;         // The slots of the positions that are held, neighbours merged.
    std::vector<int> children;
    int end() const { return first + count; }
    int held_from() const { return first + given_up; }
  };
  static constexpr int kRoot = 0;
  struct Spare { int node; int positions; };  // No window reaches the first `positions` that it holds.

  int NodeOf(SequenceId sequence) const;
  int NodeAt(int node, int length) const;                    // The node of the path to `node` that holds position length - 1.
  SequenceId Attach(int node);                               // A new sequence that ends with the node.
  void Detach(int node);                                     // One sequence fewer; frees nodes and slots that no sequence needs any more.
  int AddNode(int parent, int first);
  void RemoveNode(int node);
  int Split(int node, int length);                           // The new node, which ends at `length`; `node` follows it.
  int SplitAt(int node, int length);                         // The node that ends at `length`, after splitting if needed.
  void MergeIntoChild(int node);
  int32_t LastSlotBefore(int node, const Path& own) const;
  int HeldFromOf(int node) const;                            // All positions from here to the node's end are held.
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
