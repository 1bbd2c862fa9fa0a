#include "tessera/model/files/internal/packed_units.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

std::string Describe(const TsrEntry& entry) {
  return absl::StrCat(Quoted(entry.name), " of ", entry.bytes, " bytes at ", entry.offset);
}

}  // namespace

TsrUnit PackedUnit(const WeightLayout& layout, int unit) {
  TsrUnit packed = {.bytes = layout.UnitBytes(unit)};
  for (const auto& [tensor, part] : layout.PartsOfUnit(unit)) packed.entries.push_back({*tensor, part->offset, part->bytes});
  return packed;
}

absl::Status CheckPackedUnits(const TsrReader& reader, const WeightLayout& layout) {
  const auto wrong = [&](absl::string_view place, const auto& found, const auto& expected) {
    return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": ", place, ": found ", found, ", expected ", expected,
                                                   ", as its GGUF header asks for; pack the model again"));
  };
  if (reader.units() != layout.units()) return wrong("units", reader.units(), layout.units());
  for (int unit = 0; unit < layout.units(); ++unit) {
    const TsrUnit expected = PackedUnit(layout, unit);
    const absl::Span<const TsrEntry> found = reader.Entries(unit);
    const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.entries.begin(), expected.entries.end());
    if (a != found.end() || b != expected.entries.end()) {
      return wrong(absl::StrCat("unit ", unit, " entry ", a - found.begin()), a == found.end() ? "none" : Describe(*a),
                   b == expected.entries.end() ? "none" : Describe(*b));
    }
    if (reader.UnitBytes(unit) != expected.bytes) {
      return wrong(absl::StrCat("unit ", unit, " bytes"), reader.UnitBytes(unit), expected.bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
