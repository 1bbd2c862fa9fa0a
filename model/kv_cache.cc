#include "tessera/model/kv_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/free_slots.h"

namespace tessera {
namespace {

// So that the number of slots, rounded up to whole blocks, is an int.
constexpr int kMostSlots = std::numeric_limits<int>::max() / KvView::kSlotsPerBlock * KvView::kSlotsPerBlock;

absl::Status CheckOptions(const KvCache::Options& options) {
  const std::pair<const char*, int> sizes[] = {
      {"layers", options.layers}, {"heads", options.heads}, {"head_size", options.head_size}, {"slots", options.slots}};
  for (const auto& [name, value] : sizes) {
    if (value < 1) return absl::InvalidArgumentError(absl::StrCat("KV cache ", name, ": found ", value, ", expected 1 or more"));
  }
  if (options.slots > kMostSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("KV cache slots: found ", options.slots, ", expected at most ", kMostSlots));
  }
  return absl::OkStatus();
}

int SlotsOf(const KvCache::Options& options) { return static_cast<int>(AlignUp(options.slots, KvView::kSlotsPerBlock)); }

// As KvView::KeyBytes and ValueBytes over all layers, but checked. width: numbers of a head in one slot.
absl::StatusOr<int64_t> CheckedBytes(const KvCache::Options& options, int64_t width) {
  ASSIGN_OR_RETURN(int64_t bytes, CheckedMul(SlotsOf(options), KvView::ElementBytes(options.format)));
  for (const int64_t factor : {width, int64_t{options.heads}, int64_t{options.layers}}) {
    ASSIGN_OR_RETURN(bytes, CheckedMul(bytes, factor));
  }
  return bytes;
}

struct CacheBytes { int64_t keys; int64_t values; };

absl::StatusOr<CacheBytes> CheckedBytes(const KvCache::Options& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  CacheBytes bytes;
  ASSIGN_OR_RETURN(bytes.keys, CheckedBytes(options, options.head_size));
  ASSIGN_OR_RETURN(bytes.values, CheckedBytes(options, AlignUp(options.head_size, 16)));
  RETURN_IF_ERROR(CheckedAdd(bytes.keys, bytes.values).status());
  return bytes;
}

absl::StatusOr<AlignedBuffer> AllocateFor(absl::string_view what, int64_t bytes, const KvCache::Options& options, int slots) {
  // Small pages: each layer and head fills its own part from the start, and large pages would back all of them at the first token.
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kSmall);
  if (buffer.ok()) return buffer;
  return absl::ResourceExhaustedError(absl::StrCat(
      "KV cache ", what, " (", options.layers, " layers x ", options.heads, " heads x ", options.head_size, " x ", slots,
      " slots): found no memory for ", bytes, " bytes (", buffer.status().message(), "); a shorter context needs less"));
}

void AppendRange(SlotRange range, KvCache::Path& path) {
  if (range.count == 0) return;
  if (!path.empty() && path.back().begin + path.back().count == range.begin) {
    path.back().count += range.count;
  } else {
    path.push_back(range);
  }
}

// Appends the first `count` positions of `ranges` to `head` and the others to `tail`.
void Divide(const KvCache::Path& ranges, int count, KvCache::Path& head, KvCache::Path& tail) {
  for (const SlotRange& range : ranges) {
    const int in_head = std::min(range.count, count);
    AppendRange({range.begin, in_head}, head);
    AppendRange({range.begin + in_head, range.count - in_head}, tail);
    count -= in_head;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Create(const Options& options) {
  ASSIGN_OR_RETURN(const CacheBytes bytes, CheckedBytes(options));
  const int slots = SlotsOf(options);
  ASSIGN_OR_RETURN(AlignedBuffer keys, AllocateFor("keys", bytes.keys, options, slots));
  ASSIGN_OR_RETURN(AlignedBuffer values, AllocateFor("values", bytes.values, options, slots));
  return std::unique_ptr<KvCache>(new KvCache(options, slots, std::move(keys), std::move(values)));
}

absl::StatusOr<int64_t> KvCache::BytesFor(const Options& options) {
  ASSIGN_OR_RETURN(const CacheBytes bytes, CheckedBytes(options));
  return bytes.keys + bytes.values;
}

KvCache::KvCache(const Options& options, int slots, AlignedBuffer keys, AlignedBuffer values)
    : options_(options), slots_(slots), keys_(std::move(keys)), values_(std::move(values)),
      free_(std::make_unique<FreeSlots>(slots, options.scatter_seed)), nodes_(1) {}

KvCache::~KvCache() = default;

KvView KvCache::View(int first_layer) const {
  CHECK(first_layer >= 0 && first_layer < options_.layers) << "layer " << first_layer << " of " << options_.layers;
  const auto& [layers, heads, head_size, unrounded, format, seed] = options_;
  return KvView(keys_.data() + first_layer * KvView::KeyBytes(format, heads, head_size, slots_),
                values_.data() + first_layer * KvView::ValueBytes(format, heads, head_size, slots_), format, heads, head_size,
                slots_);
}

KvCache::SequenceId KvCache::NewSequence() { return Attach(kRoot); }

absl::StatusOr<KvCache::SequenceId> KvCache::Fork(SequenceId sequence, int length) {
  const int node = NodeOf(sequence);
  if (length < 0 || length > nodes_[node].end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("KV cache fork: found length ", length, ", expected 0 to ", nodes_[node].end()));
  }
  return Attach(SplitAt(node, length));
}

absl::Status KvCache::Extend(SequenceId sequence, int count, std::vector<int32_t>* slots) {
  CHECK_GE(count, 0);
  int node = NodeOf(sequence);
  if (count > free_slots()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("KV cache: wanted ", count, " slots, found ", free_slots(), " free of ", slots_));
  }
  if (count == 0) return absl::OkStatus();
  const int after = node == kRoot ? -1 : nodes_[node].ranges.back().begin + nodes_[node].ranges.back().count - 1;
  if (node == kRoot || nodes_[node].sequences > 1 || !nodes_[node].children.empty()) {  // Others end or go on here.
    const int child = AddNode(node, nodes_[node].end());
    --nodes_[node].sequences;  // It has other sequences or children, so it stays as it is.
    ++nodes_[child].sequences;
    node_of_sequence_[sequence] = node = child;
  }
  for (const SlotRange& range : free_->Take({.position = nodes_[node].end(), .count = count, .after = after})) {
    AppendRange(range, nodes_[node].ranges);
    for (int i = 0; i < range.count; ++i) slots->push_back(range.begin + i);
  }
  nodes_[node].count += count;
  return absl::OkStatus();
}

void KvCache::Truncate(SequenceId sequence, int length) {
  const int node = NodeOf(sequence);
  CHECK(length >= 0 && length <= nodes_[node].end()) << length << " of " << nodes_[node].end() << " positions";
  if (length == nodes_[node].end()) return;
  const int end = SplitAt(node, length);
  ++nodes_[end].sequences;  // First, so that it is kept when the other is given up.
  node_of_sequence_[sequence] = end;
  Detach(node);
}

void KvCache::Release(SequenceId sequence) {
  const int node = NodeOf(sequence);
  node_of_sequence_.erase(sequence);
  Detach(node);
}

int KvCache::Length(SequenceId sequence) const { return nodes_[NodeOf(sequence)].end(); }

KvCache::Path KvCache::PathOf(SequenceId sequence, int length) const {
  int node = NodeOf(sequence);
  CHECK(length >= 0 && length <= nodes_[node].end()) << length << " of " << nodes_[node].end() << " positions";
  const int last = NodeAt(node, length);
  absl::InlinedVector<int, 16> upwards;
  for (node = last; node != kRoot; node = nodes_[node].parent) upwards.push_back(node);
  Path path, unread;
  for (; !upwards.empty(); upwards.pop_back()) {
    const Node& next = nodes_[upwards.back()];
    Divide(next.ranges, length - next.first, path, unread);
  }
  return path;
}

int KvCache::free_slots() const { return free_->count(); }

int KvCache::NodeOf(SequenceId sequence) const {
  const auto found = node_of_sequence_.find(sequence);
  CHECK(found != node_of_sequence_.end()) << "no sequence " << sequence;
  return found->second;
}

int KvCache::NodeAt(int node, int length) const {
  while (node != kRoot && nodes_[node].first >= length) node = nodes_[node].parent;
  return node;
}

KvCache::SequenceId KvCache::Attach(int node) {
  while (!node_of_sequence_.emplace(next_sequence_, node).second) {
    next_sequence_ = next_sequence_ == std::numeric_limits<SequenceId>::max() ? 0 : next_sequence_ + 1;
  }
  ++nodes_[node].sequences;
  const SequenceId sequence = next_sequence_;
  next_sequence_ = sequence == std::numeric_limits<SequenceId>::max() ? 0 : sequence + 1;
  return sequence;
}

void KvCache::Detach(int node) {
  --nodes_[node].sequences;
  while (node != kRoot && nodes_[node].sequences == 0 && nodes_[node].children.empty()) {
    const int parent = nodes_[node].parent;
    for (const SlotRange& range : nodes_[node].ranges) free_->Give(range);
    std::erase(nodes_[parent].children, node);
    RemoveNode(node);
    node = parent;
  }
  if (node != kRoot && nodes_[node].sequences == 0 && nodes_[node].children.size() == 1) MergeIntoChild(node);
}

int KvCache::AddNode(int parent, int first) {
  if (unused_nodes_.empty()) {
    unused_nodes_.push_back(static_cast<int>(nodes_.size()));
    nodes_.emplace_back();
  }
  const int node = unused_nodes_.back();
  unused_nodes_.pop_back();
  nodes_[node].parent = parent;
  nodes_[node].first = first;
  nodes_[parent].children.push_back(node);
  return node;
}

void KvCache::RemoveNode(int node) {
  CHECK_EQ(nodes_[node].sequences, 0);
  nodes_[node].count = 0;
  nodes_[node].ranges.clear();
  nodes_[node].children.clear();
  unused_nodes_.push_back(node);
}

int KvCache::Split(int node, int length) {
  const int front = AddNode(nodes_[node].parent, nodes_[node].first);
  Node& head = nodes_[front];
  Node& tail = nodes_[node];  // Keeps its number, and with it its sequences and children.
  std::erase(nodes_[tail.parent].children, node);
  Path rest;
  head.count = length - tail.first;
  Divide(tail.ranges, head.count, head.ranges, rest);
  head.children = {node};
  tail.parent = front;
  tail.first = length;
  tail.count -= head.count;
  tail.ranges = std::move(rest);
  return front;
}

int KvCache::SplitAt(int node, int length) {
  node = NodeAt(node, length);
  return nodes_[node].end() == length || node == kRoot ? node : Split(node, length);
}

// The child keeps its number, and with it its sequences and children.
void KvCache::MergeIntoChild(int node) {
  Node& head = nodes_[node];
  const int child = head.children.front();
  Node& tail = nodes_[child];
  for (const SlotRange& range : tail.ranges) AppendRange(range, head.ranges);
  tail.ranges = std::move(head.ranges);
  tail.first = head.first;
  tail.count += head.count;
  tail.parent = head.parent;
  std::vector<int>& siblings = nodes_[head.parent].children;
  std::replace(siblings.begin(), siblings.end(), node, child);
  RemoveNode(node);
}

}  // namespace tessera
