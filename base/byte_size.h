// Sizes in bytes as text, with units.
//
//   ASSIGN_OR_RETURN(int64_t budget, ParseByteSize("1.5GiB"));     // 1610612736
//   std::string shown = FormatByteSize(budget);                    // "1.50 GiB"
//
// K, M and G are KiB, MiB and GiB, powers of 1024; KB, MB and GB are powers of 1000. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Parses a number and an optional unit: B, K, M, G, KB, MB, GB, KiB, MiB or GiB, in any case. Without a unit the number is bytes. With a
// unit above B the number may have a decimal fraction; part of a byte is dropped. Spaces may stand around number and unit. InvalidArgument
// (the text, the expected form) for any other text, and for sizes beyond 63 bits.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

// Returns the size with three digits or more, in the largest binary unit that fits: "0 B", "1023 B", "1.00 KiB", "35.2 MiB", "4.00 GiB".
std::string FormatByteSize(int64_t bytes);
// As FormatByteSize; "not known" for nullopt.
std::string FormatKnownByteSize(std::optional<int64_t> bytes);

}  // namespace tessera
