// Sizes in bytes as people write them.
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

// Takes a number, which may have a decimal fraction if a unit above B follows, and B, K, M, G, KB, MB, GB, KiB, MiB or GiB in any case;
// without a unit it is bytes. Spaces may stand around number and unit. Part of a byte is dropped. InvalidArgument (the text, what was
// expected) for anything else, and for sizes beyond 63 bits.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

// Three digits or more in the largest binary unit that fits: "0 B", "1023 B", "1.00 KiB", "35.2 MiB", "4.00 GiB".
std::string FormatByteSize(int64_t bytes);
// The same, or "not known".
std::string FormatKnownByteSize(std::optional<int64_t> bytes);

}  // namespace tessera
