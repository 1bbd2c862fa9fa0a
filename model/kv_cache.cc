#include "tessera/model/kv_cache.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/large_pages.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/slot_tree.h"

namespace tessera {
namespace {

// Bounds the slots, so that the number of slots, rounded up to whole blocks, is an int.
constexpr int kMostSlots = std::numeric_limits<int>::max() / KvView::kSlotsPerBlock * KvView::kSlotsPerBlock;

absl::Status CheckOptions(const KvCache::Options& options) {
  const std::pair<const char*, int> sizes[] = {
      {"layers", options.layers}, {"heads", options.heads},               {"head_size", options.head_size},
      {"slots", options.slots},   {"largest_pass", options.largest_pass}, {"sequences", options.sequences}};
  for (const auto& [name, value] : sizes) {
    if (value < 1) return absl::InvalidArgumentError(absl::StrCat("KV cache ", name, ": found ", value, ", expected 1 or more"));
  }
  if (options.slots > kMostSlots) {
    return absl::InvalidArgumentError(absl::StrCat("KV cache slots: found ", options.slots, ", expected at most ", kMostSlots));
  }
  const size_t windows = options.windows.size();
  if (windows != 0 && windows != static_cast<size_t>(options.layers)) {
    return absl::InvalidArgumentError(
        absl::StrCat("KV cache windows: found ", windows, ", expected none or one for each of ", options.layers, " layers"));
  }
  for (const int window : options.windows) {
    if (window < 0) return absl::InvalidArgumentError(absl::StrCat("KV cache window: found ", window, ", expected 0 or more"));
  }
  return absl::OkStatus();
}

int SlotsOf(const KvCache::Options& options) { return static_cast<int>(AlignUp(options.slots, KvView::kSlotsPerBlock)); }

// Returns the slots that a window needs (see kv_cache.h), or all slots.
int SlotsOf(const KvCache::Options& options, int window) {
  const int all = SlotsOf(options);
  if (window == 0) return all;
  const int64_t positions = int64_t{window} + options.largest_pass + KvView::kSlotsPerBlock;
  const int64_t wanted = AlignUp(positions, KvView::kSlotsPerBlock);
  return wanted > all / options.sequences ? all : static_cast<int>(wanted * options.sequences);
}

// Returns the window of a layer if the window saves slots, else 0.
int WindowOf(const KvCache::Options& options, int layer) {
  if (options.windows.empty() || SlotsOf(options, options.windows[layer]) == SlotsOf(options)) return 0;
  return options.windows[layer];
}

// Returns the layers of each window.
std::map<int, int> LayersOfWindows(const KvCache::Options& options) {
  if (options.windows.empty()) return {{0, options.layers}};
  std::map<int, int> layers;
  for (int layer = 0; layer < options.layers; ++layer) ++layers[WindowOf(options, layer)];
  return layers;
}

struct GroupShape { int window; int layers; int slots; int64_t key_bytes = 0; int64_t value_bytes = 0; };

// Like KvView::KeyBytes and ValueBytes over all layers of a group, but with checks. width: numbers of a head in one slot.
absl::StatusOr<int64_t> CheckedBytes(const KvCache::Options& options, int layers, int slots, int64_t width) {
  ASSIGN_OR_RETURN(int64_t bytes, CheckedMul(slots, KvView::SlotBytes(options.format, width)));
  for (const int64_t factor : {int64_t{options.heads}, int64_t{layers}}) {
    ASSIGN_OR_RETURN(bytes, CheckedMul(bytes, factor));
  }
  return bytes;
}

absl::StatusOr<std::vector<GroupShape>> ShapesOf(const KvCache::Options& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::vector<GroupShape> shapes;
  int64_t total = 0;
  for (const auto& [window, layers] : LayersOfWindows(options)) {
    GroupShape shape = {window, layers, SlotsOf(options, window)};
    ASSIGN_OR_RETURN(shape.key_bytes, CheckedBytes(options, layers, shape.slots, options.head_size));
    ASSIGN_OR_RETURN(shape.value_bytes, CheckedBytes(options, layers, shape.slots, AlignUp(options.head_size, 16)));
    ASSIGN_OR_RETURN(total, CheckedAdd(total, shape.key_bytes));
    ASSIGN_OR_RETURN(total, CheckedAdd(total, shape.value_bytes));
    shapes.push_back(shape);
  }
  return shapes;
}

absl::StatusOr<AlignedBuffer> AllocateFor(absl::string_view what, int64_t bytes, const KvCache::Options& options,
                                          const GroupShape& shape) {
  // Small pages until Extend moves the group to large pages. Each layer and head fills its own part from the start, so the first token
  // would back large pages for all parts.
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kSmall);
  if (buffer.ok()) return buffer;
  return absl::ResourceExhaustedError(absl::StrCat(
      "KV cache ", what, " (", shape.layers, " layers x ", options.heads, " heads x ", options.head_size, " x ", shape.slots,
      " slots): found no memory for ", bytes, " bytes (", buffer.status().message(), "); a shorter context needs less"));
}

// Copies `count` elements of each slot, the i-th at index(slot, i). All elements are read before any is written, since a slot may be both
// source and target.
template <typename Element, typename Index>
void MoveElements(absl::Span<const SlotTree::Move> moves, int count, Element* elements, Index index) {
  std::vector<Element> held;
  held.reserve(moves.size() * count);
  for (const SlotTree::Move& move : moves) {
    for (int i = 0; i < count; ++i) held.push_back(elements[index(move.from, i)]);
  }
  const Element* next = held.data();
  for (const SlotTree::Move& move : moves) {
    for (int i = 0; i < count; ++i) elements[index(move.to, i)] = *next++;
  }
}

template <typename Element>
void MoveHead(absl::Span<const SlotTree::Move> moves, const KvView& view, int head) {
  const int size = view.head_size();
  MoveElements(moves, size, view.Keys<Element>(0, head), [&](int slot, int i) { return view.KeyIndex(slot, i); });
  MoveElements(moves, size, view.Values<Element>(0, head), [&](int slot, int i) { return view.ValueIndex(slot, i); });
  if (view.format() != KvFormat::kInt8) return;
  MoveElements(moves, 1, view.KeyScales(0, head), [](int slot, int) { return slot; });
  MoveElements(moves, 1, view.ValueScales(0, head), [](int slot, int) { return slot; });
}

// Moves slots in the first layer of the view.
void MoveSlots(absl::Span<const SlotTree::Move> moves, const KvView& view) {
  if (moves.empty()) return;
  for (int head = 0; head < view.heads(); ++head) {
    switch (view.format()) {
      case KvFormat::kHalf: MoveHead<uint16_t>(moves, view, head); break;
      case KvFormat::kInt8: MoveHead<int8_t>(moves, view, head); break;
      case KvFormat::kFloat: MoveHead<float>(moves, view, head); break;
    }
  }
}

absl::Status Exhausted(const SlotTree& tree, int wanted, int found) {
  const std::string group = tree.window() == 0 ? "" : absl::StrCat(" of layers with a window of ", tree.window());
  return absl::ResourceExhaustedError(
      absl::StrCat("KV cache", group, ": wanted ", wanted, " slots, found ", found, " free of ", tree.slots()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Create(const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<GroupShape> shapes, ShapesOf(options));
  std::vector<Group> groups;
  std::map<int, int> group_of_window;
  for (const GroupShape& shape : shapes) {
    Group group;
    ASSIGN_OR_RETURN(group.keys, AllocateFor("keys", shape.key_bytes, options, shape));
    ASSIGN_OR_RETURN(group.values, AllocateFor("values", shape.value_bytes, options, shape));
    group.tree = std::make_unique<SlotTree>(shape.slots, shape.window, options.scatter_seed);
    group_of_window[shape.window] = static_cast<int>(groups.size());
    groups.push_back(std::move(group));
  }
  std::vector<Place> places;
  for (int layer = 0; layer < options.layers; ++layer) {
    const int group = group_of_window.at(WindowOf(options, layer));
    places.push_back({group, groups[group].layers++});
  }
  return std::unique_ptr<KvCache>(new KvCache(options, std::move(groups), std::move(places)));
}

absl::StatusOr<int64_t> KvCache::BytesFor(const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<GroupShape> shapes, ShapesOf(options));
  int64_t bytes = 0;
  for (const GroupShape& shape : shapes) bytes += shape.key_bytes + shape.value_bytes;
  return bytes;
}

KvCache::KvCache(const Options& options, std::vector<Group> groups, std::vector<Place> places)
    : options_(options), groups_(std::move(groups)), slots_(groups_[0].tree->slots()), places_(std::move(places)) {}

KvCache::~KvCache() = default;

KvView KvCache::View(int first_layer) const {
  CHECK(first_layer >= 0 && first_layer < options_.layers) << "layer " << first_layer << " of " << options_.layers;
  const Place place = places_[first_layer];
  const Group& group = groups_[place.group];
  const int heads = options_.heads, head_size = options_.head_size, slots = group.tree->slots();
  return KvView(group.keys.data() + place.layer * KvView::KeyBytes(options_.format, heads, head_size, slots),
                group.values.data() + place.layer * KvView::ValueBytes(options_.format, heads, head_size, slots), options_.format,
                heads, head_size, slots);
}

KvCache::SequenceId KvCache::NewSequence() {
  SequenceId sequence = -1;
  for (Group& group : groups_) sequence = group.tree->NewSequence();  // The same id in each group.
  return sequence;
}

absl::StatusOr<KvCache::SequenceId> KvCache::Fork(SequenceId sequence, int length) {
  if (length < 0 || length > Length(sequence)) {
    return absl::InvalidArgumentError(
        absl::StrCat("KV cache fork: found length ", length, ", expected 0 to ", Length(sequence)));
  }
  SequenceId fork = -1;
  for (Group& group : groups_) fork = group.tree->Fork(sequence, length);
  return fork;
}

absl::Status KvCache::MakeRoom(int rows) {
  CHECK_GE(rows, 0);
  for (const Group& group : groups_) {
    if (rows <= group.tree->free_slots()) continue;
    const int room = group.tree->Room();
    if (rows > room) return Exhausted(*group.tree, rows, room);
  }
  for (Group& group : groups_) group.tree->MakeRoom(rows);
  return absl::OkStatus();
}

int KvCache::RoomFor(int most) const {
  CHECK_GE(most, 0);
  for (const Group& group : groups_) {
    if (most > group.tree->free_slots()) most = std::min(most, group.tree->Room());
  }
  return most;
}

bool KvCache::CanExtend(SequenceId sequence) const {
  return std::all_of(groups_.begin(), groups_.end(), [=](const Group& group) { return group.tree->CanExtend(sequence); });
}

absl::Status KvCache::Extend(SequenceId sequence, int count) {
  CHECK_GE(count, 0);
  if (!CanExtend(sequence)) {
    return absl::FailedPreconditionError(absl::StrCat("KV cache: the windows of a sequence of length ", Length(sequence),
                                                      " were given up; expected it to be truncated to 0 first"));
  }
  for (const Group& group : groups_) {
    const int free = group.tree->free_slots();
    if (count > free) return Exhausted(*group.tree, count, free);
  }
  for (Group& group : groups_) {
    group.tree->Extend(sequence, count);
    UseLargePages(group);
  }
  return absl::OkStatus();
}

void KvCache::UseLargePages(Group& group) {
  if (group.on_large_pages || group.tree->free_slots() > group.tree->slots() / 2) return;
  group.on_large_pages = true;  // Large pages take at most twice the memory in use.
  MoveToLargePages(group.keys.bytes());
  MoveToLargePages(group.values.bytes());
}

absl::Status KvCache::Adopt(SequenceId sequence, int length, absl::Span<const int> held_from) {
  CHECK_EQ(held_from.size(), places_.size());
  std::vector<int> first(groups_.size(), 0);  // By group: the first held position.
  for (int layer = 0; layer < options_.layers; ++layer) {
    int& of_group = first[GroupOf(layer)];
    CHECK(held_from[layer] >= 0 && held_from[layer] <= length) << "layer " << layer << ": " << held_from[layer] << " of " << length;
    of_group = std::max(of_group, held_from[layer]);
    const int reached = groups_[GroupOf(layer)].tree->FirstReached(length);
    if (of_group <= reached) continue;
    return absl::FailedPreconditionError(absl::StrCat("KV cache: layer ", layer, " of a sequence of length ", length,
                                                      ": found positions from ", of_group, " on, expected them from ", reached, " on"));
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const SlotTree& tree = *groups_[i].tree;
    const int reached = tree.FirstReached(length), room = tree.Room();
    if (length - reached > room) return Exhausted(tree, length - reached, room);
    first[i] = std::clamp(length - tree.free_slots(), first[i], reached);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].tree->MakeRoom(length - first[i]);
    groups_[i].tree->Begin(sequence, length, first[i]);
    UseLargePages(groups_[i]);
  }
  return absl::OkStatus();
}

void KvCache::Truncate(SequenceId sequence, int length) {
  for (Group& group : groups_) group.tree->Truncate(sequence, length);
}

void KvCache::Compact(SequenceId sequence, int length) {
  std::vector<std::vector<SlotTree::Move>> moves;  // By group.
  for (Group& group : groups_) moves.push_back(group.tree->Compact(sequence, length));
  for (int layer = 0; layer < options_.layers; ++layer) MoveSlots(moves[GroupOf(layer)], View(layer));
}

void KvCache::Release(SequenceId sequence) {
  for (Group& group : groups_) group.tree->Release(sequence);
}

int KvCache::Length(SequenceId sequence) const { return groups_[0].tree->Length(sequence); }

KvCache::Paths KvCache::PathsOf(SequenceId sequence, int length) const {
  Paths paths;
  for (const Group& group : groups_) paths.push_back(group.tree->PathOf(sequence, length));
  return paths;
}

int KvCache::free_slots() const { return groups_[0].tree->free_slots(); }
int KvCache::nodes() const { return groups_[0].tree->nodes(); }

int64_t KvCache::BytesAt(int slots) const {
  int64_t bytes = 0;
  for (const Group& group : groups_) bytes += group.keys.size() + group.values.size();
  if (keeps_memory_ || groups_[0].tree->window() > 0) return bytes;
  const auto given = [&](const AlignedBuffer& buffer, int64_t width) {
    int64_t pages = 0;
    ForEachPartBeyond(slots, buffer, width, [&](int64_t offset, int64_t part) {
      constexpr int64_t kPage = AlignedBuffer::kAlignment;
      pages += std::max<int64_t>(0, (offset + part) / kPage - CeilDiv(offset, kPage)) * kPage;
      return true;
    });
    return pages;
  };
  return bytes - given(groups_[0].keys, options_.head_size) - given(groups_[0].values, KvView::ValueStride(options_.head_size));
}

template <typename Visit>
bool KvCache::ForEachPartBeyond(int slots, const AlignedBuffer& buffer, int64_t width, Visit visit) const {
  const int64_t slot_bytes = width * KvView::ElementBytes(options_.format), rows = int64_t{groups_[0].layers} * options_.heads;
  const int64_t begin = AlignUp(slots, KvView::kSlotsPerBlock), all = groups_[0].tree->slots();
  for (int64_t row = 0; row < rows; ++row) {
    if (!visit(row * (buffer.size() / rows) + begin * slot_bytes, (all - begin) * slot_bytes)) return false;
  }
  return true;
}

int KvCache::Shrink(int least) {
  CHECK_GE(least, 0);
  Group& group = groups_[0];
  if (group.tree->window() > 0) return slots_;
  least = std::max(least, slots_ - free_slots());
  const std::vector<SlotTree::Move> moves = group.tree->PackBelow(least);
  for (int layer = 0; layer < options_.layers; ++layer) {
    if (GroupOf(layer) == 0) MoveSlots(moves, View(layer));
  }
  const int before = slots_;
  slots_ = group.tree->DropEnd(least);
  if (slots_ < before) group.on_large_pages = true;   // From now on no large pages: a large page would take the returned memory again.
  const auto give = [&](AlignedBuffer& buffer, int64_t width) {
    return ForEachPartBeyond(slots_, buffer, width, [&](int64_t offset, int64_t part) { return buffer.GiveBack(offset, part).ok(); });
  };
  keeps_memory_ = keeps_memory_ || !give(group.keys, options_.head_size) || !give(group.values, KvView::ValueStride(options_.head_size));
  return slots_;
}

}  // namespace tessera
