// Errors of wrong usage, marked with the wrong option. So a program can distinguish wrong usage from all other errors, and use the
// program's own name for the option.
//
//   absl::Status CheckThreads(int threads) {
//     if (threads >= 0 && threads <= 256) return absl::OkStatus();
//     return WrongUsage("threads", threads, "0 (all CPUs) to 256");      // "threads: found 999, expected 0 (all CPUs) to 256"
//   }
//   if (IsWrongUsage(status)) code = 2;                                  // FieldOf(status): "threads"
//
// A library names a field of the library's options. The caller knows the source of that field: a flag, or a key of a request. The mark is a
// payload. Copies of a status keep the mark; a new status made from another status's code and message has none. Thread-safe (pure
// functions).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns InvalidArgument "FIELD: found FOUND, expected EXPECTED", marked with FIELD.
absl::Status WrongUsage(absl::string_view field, const absl::AlphaNum& found, absl::string_view expected);

// Returns `status` as wrong usage of `field`: the same code, the mark, and "FIELD: " in front of the message unless already there. A status
// with a mark stays unchanged, and so does OK.
absl::Status ForField(absl::string_view field, const absl::Status& status);

// As ForField, for an error of reading or writing the file that `field` names. Wrong usage: a path that leads nowhere, a wrong kind of
// file, a file that may not be opened. A full disk, a failing device or a lack of descriptors is not wrong usage: returns `status`
// unchanged.
absl::Status ForFile(absl::string_view field, const absl::Status& status);

bool IsWrongUsage(const absl::Status& status);
std::string FieldOf(const absl::Status& status);  // Empty if `status` is not wrong usage.

// Marks `status`, an error about a limit, with the option that sets the limit, so that a program can say how to change the limit. The mark
// does not make the error wrong usage; the error may also be marked as wrong usage of another option. OK stays OK.
absl::Status LimitedBy(absl::string_view field, absl::Status status);
std::string LimitOf(const absl::Status& status);  // Empty if `status` names no limit.

}  // namespace tessera
