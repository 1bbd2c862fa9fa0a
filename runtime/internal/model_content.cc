#include "tessera/runtime/internal/model_content.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/checked_math.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The checksums of the blocks that a unit's bytes would be in a packed file: as TsrReader::ContentCrcs.
void AppendCrcs(absl::Span<const std::byte> unit, std::vector<uint32_t>& crcs) {
  static constexpr std::byte kZeros[kTsrPage] = {};
  const int64_t bytes = static_cast<int64_t>(unit.size());
  for (int64_t begin = 0; begin < bytes; begin += kTsrBlockBytes) {
    const absl::Span<const std::byte> block = unit.subspan(begin, kTsrBlockBytes);
    const int64_t size = static_cast<int64_t>(block.size()), zeros = AlignUp(size, kTsrPage) - size;
    crcs.push_back(Crc32c(absl::MakeConstSpan(kZeros).first(zeros), Crc32c(block)));
  }
}

absl::StatusOr<std::vector<uint32_t>> WeightCrcs(const LoadedModel& model) {
  if (model.file().HoldsUnitsOf(model.layout())) return model.file().packed()->ContentCrcs();
  std::vector<uint32_t> crcs;
  for (int unit = 0; unit < model.layout().units(); ++unit) {
    ASSIGN_OR_RETURN(const WeightLease lease, model.weights().Acquire(unit));
    AppendCrcs(lease.bytes().first(model.layout().UnitBytes(unit)), crcs);
  }
  return crcs;
}

}  // namespace

absl::StatusOr<uint64_t> ModelContentOf(const LoadedModel& model) {
  uint64_t content = MixBits(static_cast<uint64_t>(model.layout().encoding()));
  const auto mix = [&](uint64_t number) { content = MixBits(content ^ number); };
  for (int part = 0; part < model.gguf().parts(); ++part) {
    ASSIGN_OR_RETURN(const GgufFile::Header header, model.gguf().HeaderOf(part));
    mix(Crc32c(header.bytes.span()));
  }
  for (const RopeConfig& rope : model.config().ropes) {
    const std::vector<float>& factors = rope.frequency_factors;
    mix(Crc32c({reinterpret_cast<const std::byte*>(factors.data()), factors.size() * sizeof(float)}));
  }
  if (const WeightRecipe& recipe = model.layout().recipe(); !recipe.keeps_all()) {  // Says more than the bytes: how rows are rounded.
    const std::string text = recipe.text();
    mix(Crc32c({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
  }
  ASSIGN_OR_RETURN(const std::vector<uint32_t> crcs, WeightCrcs(model));
  for (const uint32_t crc : crcs) mix(crc);
  return content;
}

}  // namespace tessera
