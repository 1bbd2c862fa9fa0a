#include "tessera/model/internal/slot_tree.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "glog/logging.h"

namespace tessera {
namespace {

void AppendRange(SlotRange range, SlotTree::Path& path) {
  if (range.count == 0) return;
  if (!path.empty() && path.back().begin != kNoSlot && path.back().begin + path.back().count == range.begin) {
    path.back().count += range.count;
  } else {
    path.push_back(range);
  }
}

// Appends the first `count` slots of `ranges` to `head` and the others to `tail`.
void Divide(const SlotTree::Path& ranges, int count, SlotTree::Path& head, SlotTree::Path& tail) {
  for (const SlotRange& range : ranges) {
    const int in_head = std::min(range.count, count);
    AppendRange({range.begin, in_head}, head);
    AppendRange({range.begin + in_head, range.count - in_head}, tail);
    count -= in_head;
  }
}

}  // namespace

SlotTree::SequenceId SlotTree::Fork(SequenceId sequence, int length) {
  const int node = NodeOf(sequence);
  CHECK(length >= 0 && length <= nodes_[node].end()) << length << " of " << nodes_[node].end() << " positions";
  return Attach(SplitAt(node, length));
}

void SlotTree::Extend(SequenceId sequence, int count) {
  int node = NodeOf(sequence);
  CHECK(CanExtend(sequence)) << "sequence " << sequence << " has given up positions that its next row reads";
  if (count == 0) return;
  const Path& last = nodes_[node].ranges;
  const int after = last.empty() ? -1 : last.back().begin + last.back().count - 1;
  if (node == kRoot || nodes_[node].sequences > 1 || !nodes_[node].children.empty()) {  // Other sequences end or continue here.
    const int child = AddNode(node, nodes_[node].end());
    --nodes_[node].sequences;  // The node has other sequences or children, so it stays.
    ++nodes_[child].sequences;
    node_of_sequence_[sequence] = node = child;
  }
  for (const SlotRange& range : free_.Take({.position = nodes_[node].end(), .count = count, .after = after})) {
    AppendRange(range, nodes_[node].ranges);
  }
  nodes_[node].count += count;
}

void SlotTree::Begin(SequenceId sequence, int length, int held_from) {
  CHECK_EQ(NodeOf(sequence), kRoot) << "sequence " << sequence << " is not empty";
  CHECK(held_from >= 0 && held_from <= FirstReached(length) && length - held_from <= free_slots()) << held_from << " of " << length;
  if (length == 0) return;
  const int node = AddNode(kRoot, 0);
  --nodes_[kRoot].sequences;
  ++nodes_[node].sequences;
  node_of_sequence_[sequence] = node;
  nodes_[node].count = length;
  nodes_[node].given_up = held_from;
  for (const SlotRange& range : free_.Take({.position = held_from, .count = length - held_from, .after = -1})) {
    AppendRange(range, nodes_[node].ranges);
  }
}

void SlotTree::Truncate(SequenceId sequence, int length) {
  const int node = NodeOf(sequence);
  CHECK(length >= 0 && length <= nodes_[node].end()) << length << " of " << nodes_[node].end() << " positions";
  if (length == nodes_[node].end()) return;
  const int end = SplitAt(node, length);
  ++nodes_[end].sequences;  // Comes first, so that this node is kept when the other is given up.
  node_of_sequence_[sequence] = end;
  Detach(node);
}

void SlotTree::Release(SequenceId sequence) {
  const int node = NodeOf(sequence);
  node_of_sequence_.erase(sequence);
  Detach(node);
}

bool SlotTree::CanExtend(SequenceId sequence) const {
  const int node = NodeOf(sequence);
  return HeldFromOf(node) <= FirstReached(nodes_[node].end());
}

int SlotTree::FirstReached(int length) const { return window_ == 0 ? 0 : std::max(0, length - window_ + 1); }

int SlotTree::HeldFromOf(int node) const {
  while (node != kRoot && nodes_[node].given_up == 0) node = nodes_[node].parent;
  return nodes_[node].held_from();
}

SlotTree::Path SlotTree::PathOf(SequenceId sequence, int length) const {
  int node = NodeOf(sequence);
  CHECK(length >= 0 && length <= nodes_[node].end()) << length << " of " << nodes_[node].end() << " positions";
  node = NodeAt(node, length);
  const int held_from = HeldFromOf(node);
  CHECK(length == 0 || held_from <= FirstReached(length - 1)) << "position " << length - 1 << ": found all before " << held_from
                                                              << " given up, window " << window_;
  return PathTo(node, length);
}

SlotTree::Path SlotTree::PathTo(int node, int length) const {
  const int held_from = HeldFromOf(node);
  absl::InlinedVector<int, 16> upwards;
  for (; node != kRoot && nodes_[node].end() > held_from; node = nodes_[node].parent) upwards.push_back(node);
  Path path, unread;
  if (held_from > 0) path.push_back({kNoSlot, held_from});
  for (; !upwards.empty(); upwards.pop_back()) {
    const Node& next = nodes_[upwards.back()];
    Divide(next.ranges, length - next.held_from(), path, unread);
  }
  return path;
}

std::vector<SlotTree::Move> SlotTree::Compact(SequenceId sequence, int length) {
  const int node = NodeOf(sequence);
  CHECK(length >= 0 && length <= nodes_[node].end()) << length << " of " << nodes_[node].end() << " positions";
  Node& own = nodes_[node];
  const bool alone = node != kRoot && own.sequences == 1 && own.children.empty();
  if (!alone || length < own.held_from() || length == own.end()) return {};
  Path kept, moved;
  Divide(own.ranges, length - own.held_from(), kept, moved);
  const int32_t last = LastSlotBefore(node, kept);
  const bool follows = moved.size() == 1 && moved.front().begin == last + 1;
  const bool can = std::any_of(moved.begin(), moved.end(),
                               [&](SlotRange range) { return range.begin <= last + 1 && last + 1 < range.begin + range.count; });
  if (last < 0 || follows || !(can || free_.Has(last + 1) || free_.scatters())) return {};
  for (const SlotRange& range : moved) free_.Give(range);
  own.ranges = kept;
  std::vector<Move> moves;
  for (const SlotRange& range : moved) {
    for (int i = 0; i < range.count; ++i) moves.push_back({range.begin + i, kNoSlot});
  }
  size_t next = 0;
  for (const SlotRange& range : free_.Take({.position = length, .count = static_cast<int>(moves.size()), .after = last})) {
    AppendRange(range, own.ranges);
    for (int i = 0; i < range.count; ++i) moves[next++].to = range.begin + i;
  }
  return moves;
}

std::vector<SlotTree::Move> SlotTree::PackBelow(int end) {
  std::vector<Move> moves;
  if (free_.scatters()) return moves;
  for (Node& node : nodes_) {
    Path packed;
    const size_t moved_before = moves.size();
    for (const SlotRange& range : node.ranges) {
      const int stays = std::clamp(end - range.begin, 0, range.count);
      AppendRange({range.begin, stays}, packed);
      int32_t from = range.begin + stays;
      for (const SlotRange& taken : free_.TakeLowest(range.count - stays)) {
        AppendRange(taken, packed);
        for (int i = 0; i < taken.count; ++i) moves.push_back({from++, taken.begin + i});
      }
    }
    for (size_t i = moved_before; i < moves.size(); ++i) free_.Give({moves[i].from, 1});
    node.ranges = std::move(packed);
  }
  return moves;
}

// Returns the slot of the position before `own`, the node's first slots; -1 if there is none.
int32_t SlotTree::LastSlotBefore(int node, const Path& own) const {
  if (!own.empty()) return own.back().begin + own.back().count - 1;
  if (nodes_[node].given_up > 0) return -1;
  const Path& before = nodes_[nodes_[node].parent].ranges;
  return before.empty() ? -1 : before.back().begin + before.back().count - 1;
}

int SlotTree::Room() const {
  int room = free_slots();
  for (const Spare& spare : FindSpare()) room += spare.positions;
  return room;
}

void SlotTree::MakeRoom(int count) {
  if (count <= free_slots()) return;
  std::vector<Spare> spare = FindSpare();
  while (count > free_slots()) {
    CHECK(!spare.empty()) << "no room for " << count;
    Spare& most = *std::max_element(spare.begin(), spare.end(), [](Spare a, Spare b) { return a.positions < b.positions; });
    CHECK_GT(most.positions, 0) << "no room for " << count;
    constexpr int kBlock = KvView::kSlotsPerBlock;  // Whole blocks, so that later slots lie in blocks like their positions.
    const int given = std::min(most.positions, kBlock - nodes_[most.node].held_from() % kBlock);
    GiveUp(most.node, given);
    most.positions -= given;
  }
}

std::vector<SlotTree::Spare> SlotTree::FindSpare() const {
  std::vector<Spare> spare;
  if (window_ > 0) FindSpare(kRoot, 0, spare);
  return spare;
}

// Records the positions that the node and its descendants can spare. Returns the first position that a next row of any of these sequences
// reads. held_from: all positions from here to the start of the node are held.
int SlotTree::FindSpare(int node, int held_from, std::vector<Spare>& spare) const {
  const Node& here = nodes_[node];
  if (here.given_up > 0) held_from = here.held_from();
  int needed_from = here.end();
  // A sequence that cannot continue from here has no next row.
  if (here.sequences > 0 && held_from <= FirstReached(here.end())) needed_from = FirstReached(here.end());
  for (const int child : here.children) needed_from = std::min(needed_from, FindSpare(child, held_from, spare));
  const int positions = std::min(needed_from, here.end()) - here.held_from();
  if (positions > 0) spare.push_back({node, positions});
  return needed_from;
}

void SlotTree::GiveUp(int node, int count) {
  Path given, kept;
  Divide(nodes_[node].ranges, count, given, kept);
  for (const SlotRange& range : given) free_.Give(range);
  nodes_[node].ranges = std::move(kept);
  nodes_[node].given_up += count;
}

int SlotTree::NodeOf(SequenceId sequence) const {
  const auto found = node_of_sequence_.find(sequence);
  CHECK(found != node_of_sequence_.end()) << "no sequence " << sequence;
  return found->second;
}

int SlotTree::NodeAt(int node, int length) const {
  while (node != kRoot && nodes_[node].first >= length) node = nodes_[node].parent;
  return node;
}

SlotTree::SequenceId SlotTree::Attach(int node) {
  while (!node_of_sequence_.emplace(next_sequence_, node).second) {
    next_sequence_ = next_sequence_ == std::numeric_limits<SequenceId>::max() ? 0 : next_sequence_ + 1;
  }
  ++nodes_[node].sequences;
  const SequenceId sequence = next_sequence_;
  next_sequence_ = sequence == std::numeric_limits<SequenceId>::max() ? 0 : sequence + 1;
  return sequence;
}

void SlotTree::Detach(int node) {
  --nodes_[node].sequences;
  while (node != kRoot && nodes_[node].sequences == 0 && nodes_[node].children.empty()) {
    const int parent = nodes_[node].parent;
    for (const SlotRange& range : nodes_[node].ranges) free_.Give(range);
    std::erase(nodes_[parent].children, node);
    RemoveNode(node);
    node = parent;
  }
  if (node != kRoot && nodes_[node].sequences == 0 && nodes_[node].children.size() == 1) MergeIntoChild(node);
}

int SlotTree::AddNode(int parent, int first) {
  if (unused_nodes_.empty()) {
    const int added = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    unused_nodes_.reserve(nodes_.capacity());   // For RemoveNode.
    unused_nodes_.push_back(added);
  }
  const int node = unused_nodes_.back();
  unused_nodes_.pop_back();
  nodes_[node].parent = parent;
  nodes_[node].first = first;
  nodes_[parent].children.push_back(node);
  return node;
}

void SlotTree::RemoveNode(int node) {
  CHECK_EQ(nodes_[node].sequences, 0);
  nodes_[node].count = nodes_[node].given_up = 0;
  nodes_[node].ranges.clear();
  nodes_[node].children.clear();
  unused_nodes_.push_back(node);
}

int SlotTree::Split(int node, int length) {
  const int front = AddNode(nodes_[node].parent, nodes_[node].first);
  Node& head = nodes_[front];
  Node& tail = nodes_[node];  // Keeps its number, and with it its sequences and children.
  std::erase(nodes_[tail.parent].children, node);
  Path rest;
  head.count = length - tail.first;
  head.given_up = std::min(head.count, tail.given_up);
  Divide(tail.ranges, head.count - head.given_up, head.ranges, rest);
  head.children = {node};
  tail.parent = front;
  tail.first = length;
  tail.count -= head.count;
  tail.given_up -= head.given_up;
  tail.ranges = std::move(rest);
  return front;
}

int SlotTree::SplitAt(int node, int length) {
  node = NodeAt(node, length);
  return nodes_[node].end() == length || node == kRoot ? node : Split(node, length);
}

// The child keeps its number, and therefore its sequences and children. If memory is exhausted, both stay separate nodes: Release cannot
// fail.
void SlotTree::MergeIntoChild(int node) {
  const int child = nodes_[node].children.front();
  Node& head = nodes_[node];
  Node& tail = nodes_[child];
  if (tail.given_up > 0) {  // Always the first positions: the head's positions among them are given up, too.
    for (const SlotRange& range : head.ranges) free_.Give(range);
    head.ranges.clear();
    head.given_up = head.count;
  }
  try {
    head.ranges.reserve(head.ranges.size() + tail.ranges.size());
  } catch (const std::bad_alloc&) {
    return;
  }
  for (const SlotRange& range : tail.ranges) AppendRange(range, head.ranges);
  tail.ranges = std::move(head.ranges);
  tail.first = head.first;
  tail.count += head.count;
  tail.given_up += head.given_up;
  tail.parent = head.parent;
  std::vector<int>& siblings = nodes_[head.parent].children;
  std::replace(siblings.begin(), siblings.end(), node, child);
  RemoveNode(node);
}

}  // namespace tessera
