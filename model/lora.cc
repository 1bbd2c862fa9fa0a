#include "tessera/model/lora.h"

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status CheckWithin(absl::string_view field, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) return absl::OkStatus();
  const std::string to_most = least == most ? "" : absl::StrCat(" to ", most);
  return absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, ", expected ", least, to_most));
}

absl::Status CheckPositive(const std::string& place, absl::string_view field, int64_t found) {
  if (found >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(place, " ", field, ": found ", found, ", expected 1 or more"));
}

absl::Status CheckNumbers(const std::string& place, absl::string_view field, const std::vector<float>& numbers, int64_t rank,
                          int64_t columns) {
  ASSIGN_OR_RETURN(const int64_t expected, CheckedMul(rank, columns));
  if (static_cast<int64_t>(numbers.size()) != expected) {
    return absl::InvalidArgumentError(absl::StrCat(place, " ", field, ": found ", numbers.size(), " numbers, expected ", expected,
                                                   " (rank ", rank, " x ", columns, ")"));
  }
  for (int64_t i = 0; i < expected; ++i) {
    if (std::isfinite(numbers[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(place, " ", field, "[", i / columns, ", ", i % columns, "]: found ",
                                                   numbers[i], ", expected a finite number"));
  }
  return absl::OkStatus();
}

absl::Status CheckMatrices(const std::string& place, const LoraMatrices& matrices) {
  RETURN_IF_ERROR(CheckWithin(place + " rank", matrices.rank, 1, kLargestAdapterRank));
  RETURN_IF_ERROR(CheckPositive(place, "in", matrices.in));
  RETURN_IF_ERROR(CheckPositive(place, "out", matrices.out));
  if (!std::isfinite(matrices.scale)) {
    return absl::InvalidArgumentError(absl::StrCat(place, " scale: found ", matrices.scale, ", expected a finite number"));
  }
  RETURN_IF_ERROR(CheckNumbers(place, "A", matrices.a, matrices.rank, matrices.in));
  return CheckNumbers(place, "B", matrices.b, matrices.rank, matrices.out);
}

uint64_t ContentOf(int place, const LoraMatrices& matrices) {
  uint64_t content = MixBits(static_cast<uint64_t>(place) + 1);
  const auto add = [&content](uint64_t value) { content = MixBits(content ^ value) + value; };
  for (const int64_t size : {matrices.in, matrices.out, int64_t{matrices.rank}}) add(static_cast<uint64_t>(size));
  add(std::bit_cast<uint32_t>(matrices.scale));
  for (const std::vector<float>* numbers : {&matrices.a, &matrices.b}) {
    for (const float number : *numbers) add(std::bit_cast<uint32_t>(number));
  }
  return content;
}

}  // namespace

absl::string_view LoraTargetName(LoraTarget target) {
  static constexpr absl::string_view kNames[kLoraTargets] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                                             "ffn_gate", "ffn_up", "ffn_down"};
  const int index = static_cast<int>(target);
  CHECK(index >= 0 && index < kLoraTargets) << index;
  return kNames[index];
}

LoraShape LoraShapeOf(const ModelConfig& config, LoraTarget target) {
  const int64_t queries = int64_t{config.heads} * config.head_size, keys = int64_t{config.kv_heads} * config.head_size;
  switch (target) {
    case LoraTarget::kQuery: return {config.width, queries};
    case LoraTarget::kKey:
    case LoraTarget::kValue: return {config.width, keys};
    case LoraTarget::kOutput: return {queries, config.width};
    case LoraTarget::kGate:
    case LoraTarget::kUp: return {config.width, config.feed_forward};
    case LoraTarget::kDown: break;
  }
  return {config.feed_forward, config.width};
}

absl::StatusOr<LoraAdapter> LoraAdapter::Create(int layers, int placeholders) {
  RETURN_IF_ERROR(CheckWithin("adapter layers", layers, 1, kMostPlaces));
  RETURN_IF_ERROR(CheckWithin("adapter placeholders", placeholders, 1, kMostPlaces));
  RETURN_IF_ERROR(CheckWithin("adapter layers x placeholders", int64_t{layers} * placeholders, 1, kMostPlaces));
  return LoraAdapter(layers, placeholders);
}

absl::Status LoraAdapter::Set(int layer, int placeholder, LoraMatrices matrices) {
  RETURN_IF_ERROR(CheckWithin("adapter layer", layer, 0, layers() - 1));
  RETURN_IF_ERROR(CheckWithin(absl::StrCat("adapter layer ", layer, " placeholder"), placeholder, 0, placeholders_ - 1));
  const std::string place = absl::StrCat("adapter layer ", layer, " placeholder ", placeholder);
  RETURN_IF_ERROR(CheckMatrices(place, matrices));
  AdapterProduct& product = products_[layer * placeholders_ + placeholder];
  if (product.a != nullptr) return absl::AlreadyExistsError(absl::StrCat(place, ": found a second A and B, expected one"));
  product = {.a = matrices.a.data(), .b = matrices.b.data(), .rank = matrices.rank, .scale = matrices.scale};
  shapes_[layer * placeholders_ + placeholder] = {matrices.in, matrices.out};
  // Set for the same place twice is refused, so the order in which places are set does not matter to a sum.
  content_ += ContentOf(layer * placeholders_ + placeholder, matrices);
  bytes_ += (matrices.a.size() + matrices.b.size()) * sizeof(float);
  numbers_.push_back(std::move(matrices.a));  // Moving a vector does not move its numbers.
  numbers_.push_back(std::move(matrices.b));
  return absl::OkStatus();
}

absl::Status LoraAdapter::CheckFits(const ModelConfig& config) const {
  const int64_t expected_layers = static_cast<int64_t>(config.layers.size());
  RETURN_IF_ERROR(CheckWithin("layers of its adapter", layers(), expected_layers, expected_layers));
  RETURN_IF_ERROR(CheckWithin("placeholders of its adapter", placeholders_, kLoraTargets, kLoraTargets));
  for (size_t place = 0; place < products_.size(); ++place) {
    if (products_[place].a == nullptr) continue;
    const auto target = static_cast<LoraTarget>(place % kLoraTargets);
    const LoraShape found = shapes_[place], expected = LoraShapeOf(config, target);
    if (found.in == expected.in && found.out == expected.out) continue;
    return absl::InvalidArgumentError(absl::StrCat("adapter layer ", place / kLoraTargets, " ", LoraTargetName(target), ": found ",
                                                   found.in, " inputs and ", found.out, " outputs, expected ", expected.in, " and ",
                                                   expected.out));
  }
  return absl::OkStatus();
}

absl::Span<const AdapterProduct> LoraAdapter::Layer(int layer) const {
  CHECK(layer >= 0 && layer < layers()) << "layer " << layer << " of " << layers();
  return absl::MakeConstSpan(products_).subspan(layer * placeholders_, placeholders_);
}

}  // namespace tessera
