#include "tessera/model/lora.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/finite_blocks.h"

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

// Checks A or B. The format must be a format of plain floats.
absl::Status CheckNumbers(const std::string& place, absl::string_view field, const LoraNumbers& of, const std::vector<std::byte>& numbers,
                          int64_t columns) {
  const BlockFormat format = of.format;
  const int64_t rank = of.rank;
  const int64_t size = InfoOf(format).bytes_per_block, found = static_cast<int64_t>(numbers.size()) / size;
  ASSIGN_OR_RETURN(const int64_t expected, CheckedMul(rank, columns));
  if (found != expected || static_cast<int64_t>(numbers.size()) % size != 0) {
    return absl::InvalidArgumentError(absl::StrCat(place, " ", field, ": found ", found, " numbers, expected ", expected, " (rank ", rank,
                                                   " x ", columns, ")"));
  }
  if (of.known_finite) return absl::OkStatus();
  const NotFiniteBlocks bad = FindNotFinite(format, numbers);
  if (bad.count == 0) return absl::OkStatus();
  float number = 0;
  InfoOf(format).dequantize(numbers.data() + bad.first * size, 1, &number);
  return absl::InvalidArgumentError(absl::StrCat(place, " ", field, "[", bad.first / columns, ", ", bad.first % columns, "]: found ",
                                                 number, ", expected a finite number"));
}

absl::Status CheckLora(const std::string& place, const LoraNumbers& numbers) {
  RETURN_IF_ERROR(CheckWithin(place + " rank", numbers.rank, 1, kLargestAdapterRank));
  RETURN_IF_ERROR(CheckPositive(place, "in", numbers.in));
  RETURN_IF_ERROR(CheckPositive(place, "out", numbers.out));
  if (!std::isfinite(numbers.scale)) {
    return absl::InvalidArgumentError(absl::StrCat(place, " scale: found ", numbers.scale, ", expected a finite number"));
  }
  const BlockFormat format = numbers.format;
  if (format != BlockFormat::kF32 && format != BlockFormat::kF16 && format != BlockFormat::kBF16) {
    return absl::InvalidArgumentError(absl::StrCat(place, " format: found ", InfoOf(format).name, ", expected F32, F16 or BF16"));
  }
  RETURN_IF_ERROR(CheckNumbers(place, "A", numbers, numbers.a, numbers.in));
  return CheckNumbers(place, "B", numbers, numbers.b, numbers.out);
}

std::vector<std::byte> Narrowed(absl::Span<const float> numbers, BlockFormat format) {
  std::vector<std::byte> narrowed(numbers.size() * static_cast<size_t>(InfoOf(format).bytes_per_block));
  InfoOf(format).quantize(numbers.data(), static_cast<int64_t>(numbers.size()), narrowed.data());
  return narrowed;
}

// Adds `count` numbers to the hash, in the format before widening; the conversion from the present format is exact.
void AddNumbers(Sha256& hash, const void* first, int64_t count, BlockFormat has, BlockFormat had) {
  const auto* const numbers = static_cast<const std::byte*>(first);
  if (has == had) return hash.Add({numbers, static_cast<size_t>(count * InfoOf(has).bytes_per_block)});
  constexpr int64_t kAtOnce = 4096;
  std::vector<float> wide(static_cast<size_t>(std::min(count, kAtOnce)));
  for (int64_t done = 0; done < count; done += kAtOnce) {
    const absl::Span<float> part = absl::MakeSpan(wide).first(static_cast<size_t>(std::min(kAtOnce, count - done)));
    InfoOf(has).dequantize(numbers + done * InfoOf(has).bytes_per_block, static_cast<int64_t>(part.size()), part.data());
    hash.Add(Narrowed(part, had));
  }
}

// Returns true if a format of 16 bits holds each of the numbers, including the sign of a zero.
template <uint16_t (*kNarrow)(float), float (*kWiden)(uint16_t)>
bool Holds(absl::Span<const float> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float number) {
    return std::bit_cast<uint32_t>(kWiden(kNarrow(number))) == std::bit_cast<uint32_t>(number);
  });
}

}  // namespace

BlockFormat NarrowestFormatFor(absl::Span<const float> a, absl::Span<const float> b) {
  constexpr auto kHalf = Holds<FloatToHalf, HalfToFloat>, kBFloat16 = Holds<FloatToBFloat16, BFloat16ToFloat>;
  if (kHalf(a) && kHalf(b)) return BlockFormat::kF16;
  return kBFloat16(a) && kBFloat16(b) ? BlockFormat::kBF16 : BlockFormat::kF32;
}

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

LoraAdapter::LoraAdapter(int layers, int placeholders)
    : placeholders_(placeholders), products_(static_cast<size_t>(layers) * static_cast<size_t>(placeholders)), shapes_(products_.size()),
      set_formats_(products_.size()), numbers_(2 * products_.size()) {
  static std::atomic<uint64_t> adapters = 0;
  id_ = ++adapters;
}

absl::StatusOr<LoraAdapter> LoraAdapter::Create(int layers, int placeholders) {
  RETURN_IF_ERROR(CheckWithin("adapter layers", layers, 1, kMostPlaces));
  RETURN_IF_ERROR(CheckWithin("adapter placeholders", placeholders, 1, kMostPlaces));
  RETURN_IF_ERROR(CheckWithin("adapter layers x placeholders", int64_t{layers} * placeholders, 1, kMostPlaces));
  return LoraAdapter(layers, placeholders);
}

absl::Status LoraAdapter::Set(int layer, int placeholder, const LoraMatrices& matrices) {
  const BlockFormat format = NarrowestFormatFor(matrices.a, matrices.b);
  return SetNumbers(layer, placeholder, {.in = matrices.in, .out = matrices.out, .rank = matrices.rank, .scale = matrices.scale,
                                         .format = format, .a = Narrowed(matrices.a, format), .b = Narrowed(matrices.b, format)});
}

absl::Status LoraAdapter::SetNumbers(int layer, int placeholder, LoraNumbers numbers) {
  RETURN_IF_ERROR(CheckWithin("adapter layer", layer, 0, layers() - 1));
  RETURN_IF_ERROR(CheckWithin(absl::StrCat("adapter layer ", layer, " placeholder"), placeholder, 0, placeholders_ - 1));
  const std::string named = absl::StrCat("adapter layer ", layer, " placeholder ", placeholder);
  RETURN_IF_ERROR(CheckLora(named, numbers));
  const int place = layer * placeholders_ + placeholder;
  AdapterProduct& product = products_[place];
  if (product.a != nullptr) return absl::AlreadyExistsError(absl::StrCat(named, ": found a second A and B, expected one"));
  product = {.a = numbers.a.data(), .b = numbers.b.data(), .rank = numbers.rank, .scale = numbers.scale, .format = numbers.format};
  shapes_[place] = {numbers.in, numbers.out};
  set_formats_[place] = numbers.format;
  bytes_ += static_cast<int64_t>(numbers.a.size() + numbers.b.size());
  numbers_[2 * place] = std::move(numbers.a);   // Moving a vector does not move its numbers.
  numbers_[2 * place + 1] = std::move(numbers.b);
  return absl::OkStatus();
}

void LoraAdapter::AddPlaceTo(Sha256& hash, size_t place) const {
  const AdapterProduct& product = products_[place];
  const LoraShape& shape = shapes_[place];
  const int64_t rank = product.rank;
  hash.AddNumber(place);
  for (const int64_t size : {shape.in, shape.out, rank}) hash.AddNumber(static_cast<uint64_t>(size));
  hash.AddNumber(std::bit_cast<uint32_t>(product.scale));
  hash.AddSized(InfoOf(set_formats_[place]).name);
  AddNumbers(hash, product.a, rank * shape.in, product.format, set_formats_[place]);
  AddNumbers(hash, product.b, rank * shape.out, product.format, set_formats_[place]);
}

Sha256Sum LoraAdapter::Sum() const {
  Sha256 hash;
  hash.AddSized("tessera adapter 1");
  hash.AddNumber(static_cast<uint64_t>(layers()));
  hash.AddNumber(static_cast<uint64_t>(placeholders_));
  for (size_t place = 0; place < products_.size(); ++place) {
    if (products_[place].a != nullptr) AddPlaceTo(hash, place);
  }
  return hash.Take();
}

std::vector<int> LoraAdapter::Ranks() const {
  std::vector<int> ranks;
  for (const AdapterProduct& product : products_) ranks.push_back(product.a == nullptr ? 0 : product.rank);
  return ranks;
}

void LoraAdapter::PadTo(const std::vector<int>& ranks, const std::vector<LoraShape>& shapes) {
  CHECK(ranks.size() == products_.size() && shapes.size() == products_.size()) << ranks.size() << " and " << shapes.size();
  bytes_ = 0;
  for (size_t place = 0; place < products_.size(); ++place) {
    AdapterProduct& product = products_[place];
    CHECK(product.a == nullptr || product.rank <= ranks[place]) << product.rank << " at place " << place;
    const BlockFormat format = product.a == nullptr ? BlockFormat::kF16 : product.format;
    const int64_t row = ranks[place] * int64_t{InfoOf(format).bytes_per_block};
    std::vector<std::byte>&a = numbers_[2 * place], &b = numbers_[2 * place + 1];
    a.resize(static_cast<size_t>(row * shapes[place].in));
    b.resize(static_cast<size_t>(row * shapes[place].out));
    bytes_ += static_cast<int64_t>(a.size() + b.size());
    if (product.a != nullptr) product.a = a.data(), product.b = b.data();
  }
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
