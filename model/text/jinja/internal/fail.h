// Errors of templates: InvalidArgument, or ResourceExhausted for a limit, with the template's line in front.
//
//   return AtLine(expression.line, Fail("'", name, "' is undefined"));       // "line 12: 'x' is undefined"
//
// Thread-safe (pure functions).
#pragma once

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/joined_status.h"

namespace tessera::jinja {

template <typename... Parts>
absl::Status Fail(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

inline constexpr char kRefusal[] = "tessera/template_refusal";   // The mark (a payload) of an error that a template raises itself.

// Adds the line in front. A line that is already there stays: the line of the innermost expression that failed.
inline absl::Status AtLine(int line, const absl::Status& status) {
  if (status.ok() || absl::StartsWith(status.message(), "line ")) return status;
  return WithMessage(status, absl::StrCat("line ", line, ": ", status.message()));
}

}  // namespace tessera::jinja
