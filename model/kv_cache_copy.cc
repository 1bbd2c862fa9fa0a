// Copies keys and values of positions out of slots and into slots.
#include <algorithm>
#include <cstring>

#include "glog/logging.h"
#include "tessera/model/internal/slot_tree.h"
#include "tessera/model/kv_cache.h"

namespace tessera {
namespace {

// Calls visit(slot) for `count` positions of a path, from `first` on.
template <typename Visit>
void ForEachSlot(SlotPath path, int first, int count, Visit visit) {
  int position = 0;
  for (const SlotRange& range : path) {
    const int begin = std::max(first, position), end = std::min(first + count, position + range.count);
    for (int at = begin; at < end; ++at) visit(range.begin + at - position);
    position += range.count;
  }
}

// Calls copy(place, bytes) for each piece of a slot's contents in the first layer of the view.
template <typename Element, typename Copy>
void ForEachPiece(const KvView& view, int slot, Copy copy) {
  for (int head = 0; head < view.heads(); ++head) {
    Element* const keys = view.Keys<Element>(0, head);
    for (int i = 0; i < view.head_size(); ++i) copy(keys + view.KeyIndex(slot, i), sizeof(Element));
    copy(view.Values<Element>(0, head) + view.ValueIndex(slot, 0), view.head_size() * sizeof(Element));
    if (view.format() != KvFormat::kInt8) continue;
    copy(view.KeyScales(0, head) + slot, sizeof(float));
    copy(view.ValueScales(0, head) + slot, sizeof(float));
  }
}

template <typename Copy>
void ForEachPiece(const KvView& view, int slot, Copy copy) {
  switch (view.format()) {
    case KvFormat::kHalf: return ForEachPiece<uint16_t>(view, slot, copy);
    case KvFormat::kInt8: return ForEachPiece<int8_t>(view, slot, copy);
    case KvFormat::kFloat: return ForEachPiece<float>(view, slot, copy);
  }
}

}  // namespace

int64_t KvCache::PositionBytes() const {
  return 2 * options_.heads * KvView::SlotBytes(options_.format, options_.head_size);
}

int KvCache::HeldFrom(SequenceId sequence, int layer) const { return groups_[GroupOf(layer)].tree->HeldFrom(sequence); }

void KvCache::CopyOut(SequenceId sequence, int layer, int first, absl::Span<std::byte> out) const {
  const int count = static_cast<int>(static_cast<int64_t>(out.size()) / PositionBytes());
  CHECK(HeldFrom(sequence, layer) <= first && count <= Length(sequence) - first) << count << " positions from " << first << " on";
  CHECK_EQ(static_cast<int64_t>(out.size()), count * PositionBytes());
  const KvView view = View(layer);
  std::byte* next = out.data();
  ForEachSlot(groups_[GroupOf(layer)].tree->WholePathOf(sequence), first, count, [&](int slot) {
    ForEachPiece(view, slot, [&](const void* place, size_t bytes) {
      std::memcpy(next, place, bytes);
      next += bytes;
    });
  });
}

void KvCache::CopyIn(SequenceId sequence, int layer, int first, absl::Span<const std::byte> in) {
  const int count = static_cast<int>(static_cast<int64_t>(in.size()) / PositionBytes());
  CHECK(HeldFrom(sequence, layer) <= first && count <= Length(sequence) - first) << count << " positions from " << first << " on";
  CHECK_EQ(static_cast<int64_t>(in.size()), count * PositionBytes());
  const KvView view = View(layer);
  const std::byte* next = in.data();
  ForEachSlot(groups_[GroupOf(layer)].tree->WholePathOf(sequence), first, count, [&](int slot) {
    ForEachPiece(view, slot, [&](void* place, size_t bytes) {
      std::memcpy(place, next, bytes);
      next += bytes;
    });
  });
}

}  // namespace tessera
