// A language model's weights as units of a .tsr file: those of its WeightLayout. Its header is beside them (packed_header.h).
//
//   RETURN_IF_ERROR(CheckPackedUnits(reader, layout));
//
// Thread-safe (pure functions).
#pragma once

#include "absl/status/status.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

// As they are written to a file.
TsrUnit PackedUnit(const WeightLayout& layout, int unit);

// InvalidArgument names the first unit and entry of the file that the layout does not have, or has elsewhere.
absl::Status CheckPackedUnits(const TsrReader& reader, const WeightLayout& layout);

}  // namespace tessera
