#include "tessera/model/load_adapter.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"

namespace tessera {
namespace {

static_assert(kMostAdapterRank == kLargestAdapterRank, "what a file may hold is what kernels take");

// REQUIRES: `matrix` is one of AdapterPair's names.
LoraTarget TargetOf(absl::string_view matrix) {
  int target = 0;
  while (LoraTargetName(static_cast<LoraTarget>(target)) != matrix) ++target;   // CHECKs that there is such a target.
  return static_cast<LoraTarget>(target);
}

template <typename Number>
void Transpose(const Number* numbers, int64_t rows, int64_t columns, Number* transposed) {
  // Few columns (the rank): written in order, and read again and again from the cache.
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) transposed[column * rows + row] = numbers[row * columns + column];
  }
}

bool Has16Bits(const AdapterPair& pair) {
  return pair.a.format == pair.b.format && InfoOf(pair.a.format).bytes_per_block == static_cast<int32_t>(sizeof(uint16_t));
}

absl::Span<const float> FloatsOf(const AdapterMatrix& matrix) {
  return {reinterpret_cast<const float*>(matrix.bytes.data()), matrix.bytes.size() / sizeof(float)};
}

// Returns true if the file's numbers keep their format: 16 bits, or 32 if no format of 16 bits holds the numbers.
bool KeepsItsBits(const AdapterPair& pair) {
  if (pair.a.format != BlockFormat::kF32 || pair.b.format != BlockFormat::kF32) return Has16Bits(pair);
  return NarrowestFormatFor(FloatsOf(pair.a), FloatsOf(pair.b)) == BlockFormat::kF32;
}

// Returns B in the adapter's order.
std::vector<std::byte> Transposed(const AdapterMatrix& b) {
  std::vector<std::byte> transposed(b.bytes.size());
  if (InfoOf(b.format).bytes_per_block == static_cast<int32_t>(sizeof(uint16_t))) {
    Transpose(reinterpret_cast<const uint16_t*>(b.bytes.data()), b.rows, b.columns, reinterpret_cast<uint16_t*>(transposed.data()));
  } else {
    Transpose(reinterpret_cast<const uint32_t*>(b.bytes.data()), b.rows, b.columns, reinterpret_cast<uint32_t*>(transposed.data()));
  }
  return transposed;
}

// Sets a pair in the adapter. Takes the pair's bytes.
absl::Status SetPair(AdapterPair& pair, float scale, bool known_finite, LoraAdapter& adapter) {
  const int target = static_cast<int>(TargetOf(pair.matrix));
  CHECK_EQ(static_cast<int64_t>(pair.b.bytes.size()), pair.b.rows * pair.b.columns * InfoOf(pair.b.format).bytes_per_block)
      << pair.matrix << ": not read";
  const bool keeps_its_bits = KeepsItsBits(pair);
  const AdapterMatrix b = std::move(pair.b);
  if (keeps_its_bits) {
    LoraNumbers numbers = {.in = pair.a.columns, .out = b.rows, .rank = pair.rank, .scale = scale, .format = pair.a.format,
                           .a = std::move(pair.a.bytes), .b = Transposed(b), .known_finite = known_finite};
    return adapter.SetNumbers(pair.layer, target, std::move(numbers));
  }
  const std::vector<float> b_floats = b.Floats();
  LoraMatrices matrices = {.in = pair.a.columns, .out = b.rows, .rank = pair.rank, .scale = scale, .a = pair.a.Floats(),
                           .b = std::vector<float>(b_floats.size())};
  Transpose(b_floats.data(), b.rows, b.columns, matrices.b.data());
  std::vector<std::byte>().swap(pair.a.bytes);   // Frees the memory; an assignment would not.
  return adapter.Set(pair.layer, target, matrices);
}

// Makes an adapter from a file's pairs, in any order.
class LoraMaker {
 public:
  static absl::StatusOr<LoraMaker> Create(const std::string& path, const ModelConfig& config, float scale) {
    if (!std::isfinite(scale)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": scale: found ", scale, ", expected a finite number"));
    }
    ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets));
    return LoraMaker(path, config, scale, std::move(adapter));
  }
  // Takes the pair's bytes.
  absl::Status Add(AdapterPair& pair, bool known_finite) { return Named(SetPair(pair, pair.scale * scale_, known_finite, adapter_)); }
  absl::StatusOr<LoraAdapter> Take() && {
    RETURN_IF_ERROR(Named(adapter_.CheckFits(config_)));
    return std::move(adapter_);
  }

 private:
  LoraMaker(const std::string& path, const ModelConfig& config, float scale, LoraAdapter adapter)
      : path_(path), config_(config), scale_(scale), adapter_(std::move(adapter)) {}
  absl::Status Named(const absl::Status& status) const {
    return status.ok() ? status : absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
  }

  const std::string& path_;
  const ModelConfig& config_;
  const float scale_;
  LoraAdapter adapter_;
};

}  // namespace

absl::StatusOr<LoraAdapter> MakeLoraAdapter(AdapterFile file, const ModelConfig& config, float scale) {
  ASSIGN_OR_RETURN(LoraMaker maker, LoraMaker::Create(file.path, config, scale));
  for (AdapterPair& pair : file.pairs) RETURN_IF_ERROR(maker.Add(pair, /*known_finite=*/false));
  return std::move(maker).Take();
}

absl::StatusOr<LoraAdapter> ReadLoraAdapter(const AdapterReader& reader, const ModelConfig& config, float scale) {
  ASSIGN_OR_RETURN(LoraMaker maker, LoraMaker::Create(reader.shapes().path, config, scale));
  RETURN_IF_ERROR(reader.ReadPairs([&](size_t /*number*/, AdapterPair&& pair) { return maker.Add(pair, /*known_finite=*/true); }));
  return std::move(maker).Take();
}

LoraPlan PlanLoraAdapter(const AdapterFile& file, const ModelConfig& config) {
  const size_t places = config.layers.size() * kLoraTargets;
  LoraPlan plan = {.ranks = std::vector<int>(places), .number_bytes = std::vector<int>(places, sizeof(uint16_t))};
  for (const AdapterPair& pair : file.pairs) {
    const size_t place = static_cast<size_t>(pair.layer * kLoraTargets) + static_cast<size_t>(TargetOf(pair.matrix));
    plan.ranks[place] = pair.rank;
    if (!Has16Bits(pair)) plan.number_bytes[place] = sizeof(float);
  }
  return plan;
}

int64_t LoraPlan::BytesPaddedTo(const std::vector<int>& to, const std::vector<LoraShape>& shapes) const {
  int64_t bytes = 0;
  for (size_t place = 0; place < to.size(); ++place) bytes += to[place] * (shapes[place].in + shapes[place].out) * number_bytes[place];
  return bytes;
}

}  // namespace tessera
