#include "tessera/model/adapter_set.h"

#include <algorithm>
#include <set>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Appends `numbers`, widened to FP32 if `to` is another format.
void Append(const std::vector<std::byte>& numbers, BlockFormat from, BlockFormat to, std::vector<std::byte>& out) {
  if (from == to) {
    out.insert(out.end(), numbers.begin(), numbers.end());
    return;
  }
  CHECK(to == BlockFormat::kF32) << InfoOf(to).name;
  const int64_t count = static_cast<int64_t>(numbers.size()) / InfoOf(from).bytes_per_block;
  std::vector<float> wide(static_cast<size_t>(count));
  InfoOf(from).dequantize(numbers.data(), count, wide.data());
  const auto* const bytes = reinterpret_cast<const std::byte*>(wide.data());
  out.insert(out.end(), bytes, bytes + wide.size() * sizeof(float));
}

}  // namespace

std::vector<LoraShape> LoraShapesOf(const ModelConfig& config) {
  std::vector<LoraShape> shapes;
  for (size_t place = 0; place < config.layers.size() * kLoraTargets; ++place) {
    shapes.push_back(LoraShapeOf(config, static_cast<LoraTarget>(place % kLoraTargets)));
  }
  return shapes;
}

void RaiseRanks(const std::vector<int>& other, std::vector<int>& ranks) {
  ranks.resize(std::max(ranks.size(), other.size()));
  for (size_t place = 0; place < other.size(); ++place) ranks[place] = std::max(ranks[place], other[place]);
}

absl::StatusOr<AdapterSet> AdapterSet::Create(LoraMode mode, std::vector<LoraAdapter> adapters, const ModelConfig& config) {
  for (const LoraAdapter& adapter : adapters) RETURN_IF_ERROR(adapter.CheckFits(config));
  AdapterSet set(mode);
  set.adapters_ = std::move(adapters);
  const std::vector<LoraShape> shapes = LoraShapesOf(config);
  std::set<std::vector<int>> ranks;
  for (const LoraAdapter& adapter : set.adapters_) ranks.insert(adapter.Ranks());
  if (mode == LoraMode::kGraph) set.graphs_ = std::max(1, static_cast<int>(ranks.size()));
  if (mode == LoraMode::kInput) set.Pad(shapes);
  if (mode == LoraMode::kMask) {
    set.side_by_side_.resize(2 * shapes.size());
    for (size_t place = 0; place < shapes.size(); ++place) set.PutSideBySide(place);
  }
  for (const LoraAdapter& adapter : set.adapters_) set.bytes_ += adapter.bytes();
  return set;
}

void AdapterSet::Pad(const std::vector<LoraShape>& shapes) {
  std::vector<int> ranks;
  for (const LoraAdapter& adapter : adapters_) RaiseRanks(adapter.Ranks(), ranks);
  for (LoraAdapter& adapter : adapters_) {
    const int64_t before = adapter.bytes();
    adapter.PadTo(ranks, shapes);
    padding_bytes_ += adapter.bytes() - before;
  }
}

// Puts the numbers of all adapters at the place side by side. The adapters' own copies are freed, since products find the numbers here. One
// matrix has one format.
void AdapterSet::PutSideBySide(size_t place) {
  std::vector<std::byte>&all_a = side_by_side_[2 * place], &all_b = side_by_side_[2 * place + 1];
  BlockFormat format = BlockFormat::kF32;
  bool any = false;
  for (const LoraAdapter& adapter : adapters_) {
    const AdapterProduct& product = adapter.products_[place];
    if (product.a == nullptr) continue;
    format = !any || product.format == format ? product.format : BlockFormat::kF32;
    any = true;
  }
  for (LoraAdapter& adapter : adapters_) {
    AdapterProduct& product = adapter.products_[place];
    if (product.a == nullptr) continue;
    std::vector<std::byte>&a = adapter.numbers_[2 * place], &b = adapter.numbers_[2 * place + 1];
    Append(a, product.format, format, all_a);
    Append(b, product.format, format, all_b);
    adapter.bytes_ -= static_cast<int64_t>(a.size() + b.size());
    std::vector<std::byte>().swap(a);   // Frees the memory; an assignment would not.
    std::vector<std::byte>().swap(b);
  }
  const std::byte *next_a = all_a.data(), *next_b = all_b.data();
  for (LoraAdapter& adapter : adapters_) {
    AdapterProduct& product = adapter.products_[place];
    if (product.a == nullptr) continue;
    product.a = next_a, product.b = next_b, product.format = format;
    const int64_t row = product.rank * int64_t{InfoOf(format).bytes_per_block}, in = adapter.shapes_[place].in,
                  out = adapter.shapes_[place].out;
    next_a += row * in, next_b += row * out;
    adapter.bytes_ += row * (in + out);
  }
}

}  // namespace tessera
