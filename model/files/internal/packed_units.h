// A language model as a .tsr file: the units of its WeightLayout, and the headers of the GGUF files from which it was packed.
//
//   attachment "gguf"                       the header, up to the end of the table of tensors; whole_bytes: the file's size
//   attachment "gguf.1", "gguf.2" ...       the same for the other parts of a split model
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

inline std::string GgufAttachment(int part) { return part == 0 ? "gguf" : absl::StrCat("gguf.", part); }

// As they are written to a file.
TsrUnit PackedUnit(const WeightLayout& layout, int unit);

// InvalidArgument names the first unit and entry of the file that the layout does not have, or has elsewhere.
absl::Status CheckPackedUnits(const TsrReader& reader, const WeightLayout& layout);

}  // namespace tessera
