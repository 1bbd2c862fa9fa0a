// Errors of wrong usage, marked with the option that they are about: a program tells them from all other errors, and says its own name
// for that option.
//
//   absl::Status CheckThreads(int threads) {
//     if (threads >= 0 && threads <= 256) return absl::OkStatus();
//     return WrongUsage("threads", threads, "0 (all CPUs) to 256");      // "threads: found 999, expected 0 (all CPUs) to 256"
//   }
//   if (IsWrongUsage(status)) code = 2;                                  // FieldOf(status): "threads"
//
// A library names a field of its options. What sets that field, a flag or a key of a request, its caller knows. The mark is a payload:
// copies of a status keep it; one made anew of another's code and message has none. Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tessera {

// InvalidArgument "FIELD: found FOUND, expected EXPECTED", marked with FIELD.
absl::Status WrongUsage(absl::string_view field, const absl::AlphaNum& found, absl::string_view expected);

// `status` as wrong usage of `field`: the same code, the message after "FIELD: ", and the mark. One that is marked stays as it is, and so
// does OK.
absl::Status ForField(absl::string_view field, const absl::Status& status);

bool IsWrongUsage(const absl::Status& status);
std::string FieldOf(const absl::Status& status);  // Empty: it is no wrong usage.

// `status`, which says that a limit was met, marked with the option that sets this limit: a program may add what to change. It is not
// wrong usage by that; it may be that as well, of another option. OK stays OK.
absl::Status LimitedBy(absl::string_view field, absl::Status status);
std::string LimitOf(const absl::Status& status);  // Empty: it names no limit.

}  // namespace tessera
