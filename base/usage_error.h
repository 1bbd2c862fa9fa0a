// Errors of wrong usage, marked with the option that they are about. So a program can distinguish them from all other errors, and use its
// own name for the option.
//
//   absl::Status CheckThreads(int threads) {
//     if (threads >= 0 && threads <= 256) return absl::OkStatus();
//     return WrongUsage("threads", threads, "0 (all CPUs) to 256");      // "threads: found 999, expected 0 (all CPUs) to 256"
//   }
//   if (IsWrongUsage(status)) code = 2;                                  // FieldOf(status): "threads"
//
// A library names a field of its options. Its caller knows what sets that field: a flag, or a key of a request. The mark is a payload:
// copies of a status keep it; a new status made from another's code and message has none. Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// InvalidArgument "FIELD: found FOUND, expected EXPECTED", marked with FIELD.
absl::Status WrongUsage(absl::string_view field, const absl::AlphaNum& found, absl::string_view expected);

// `status` as wrong usage of `field`: the same code, the message after "FIELD: " unless it begins so, and the mark. A status with a mark
// stays as it is, and so does OK.
absl::Status ForField(absl::string_view field, const absl::Status& status);

// The same for an error of reading or writing the file that `field` names: a path that leads nowhere, a file of another kind, one that may
// not be opened are wrong usage. A full disk, a device that fails, or a descriptor that is not to be had is none: `status` as it is.
absl::Status ForFile(absl::string_view field, const absl::Status& status);

bool IsWrongUsage(const absl::Status& status);
std::string FieldOf(const absl::Status& status);  // Empty: it is not wrong usage.

// `status`, an error about a limit, marked with the option that sets this limit, so that a program can say what to change. This mark does
// not make it wrong usage; it may also be marked as that, for another option. OK stays OK.
absl::Status LimitedBy(absl::string_view field, absl::Status status);
std::string LimitOf(const absl::Status& status);  // Empty: it names no limit.

}  // namespace tessera
