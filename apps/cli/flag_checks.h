// Checks of flags' values. Errors are wrong usage of the flag that they are about (base/usage_error.h).
//
//   RETURN_IF_ERROR(CheckFlagRange("top", FLAGS_top, 1, 100));                       // "top: found 0, expected 1 to 100"
//   RETURN_IF_ERROR(CheckNotBoth("json", FLAGS_json, "jsonl", FLAGS_jsonl));         // "json: found beside --jsonl, expected one of them"
//
// Thread-safe, once the command line is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/quant/block_format.h"

namespace tessera {

// WrongUsage of the flag unless least <= value <= most.
absl::Status CheckFlagRange(const char* flag, int64_t value, int64_t least, int64_t most);

// WrongUsage if two flags that exclude each other are both on.
absl::Status CheckNotBoth(const char* flag, bool on, const char* other, bool other_on);

// WrongUsage if a file that a flag names cannot be written; nothing is done if it names none.
absl::Status CheckFlagWritable(const char* flag, const std::string& path);

// The whole numbers from 1 to `most` that a flag lists, "1,2,40". WrongUsage unless they ascend.
absl::StatusOr<std::vector<int>> AscendingOfFlag(const char* flag, const std::string& list, int most);

// The format that a flag names: "Q4_1".
absl::StatusOr<BlockFormat> BlockFormatOfFlag(const char* flag, const std::string& name);

}  // namespace tessera
