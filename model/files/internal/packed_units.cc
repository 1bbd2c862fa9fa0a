#include "tessera/model/files/internal/packed_units.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/unit_filler.h"

namespace tessera {
namespace {

std::string Describe(const TsrEntry& entry) {
  return absl::StrCat(Quoted(entry.name), " of ", entry.bytes, " bytes at ", entry.offset);
}

// Returns the file's unit for a unit of the other layout: the first part identifies the unit.
int UnitOfFile(const WeightLayout& of_file, const WeightLayout& layout, int unit) {
  const WeightLayout::Placed first = layout.PartsOfUnit(unit)[0];
  const absl::Span<const TensorPart> parts = of_file.Parts(*first.tensor);
  const auto same = std::find_if(parts.begin(), parts.end(), [&](const TensorPart& p) { return p.first_row == first.part->first_row; });
  CHECK(same != parts.end() && of_file.UnitBytes(same->unit) == layout.UnitBytes(unit)) << *first.tensor;
  return same->unit;
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

absl::StatusOr<std::unique_ptr<ResidentSource>> LoadSomeUnits(const TsrReader& reader, const WeightLayout& of_file,
                                                              const WeightLayout& layout, ThreadPool& pool,
                                                              const std::atomic<bool>* cancel) {
  ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, RoomFor(layout, reader.path()));
  std::vector<int64_t> sizes;
  for (int unit = 0; unit < layout.units(); ++unit) sizes.push_back(layout.UnitBytes(unit));
  const auto read = [&](int unit) {
    if (cancel != nullptr && *cancel) return absl::CancelledError("loading: cancelled");
    return reader.ReadUnit(UnitOfFile(of_file, layout, unit), source->Unit(unit));
  };
  RETURN_IF_ERROR(ForEachLargestFirst(sizes, pool, read));
  return source;
}

}  // namespace tessera
