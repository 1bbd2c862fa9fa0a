// Texts made from a pattern: "%s and %d" % values, and "{} and {name}".format(...), as Python writes them.
//
//   ASSIGN_OR_RETURN(const Value text, FormatFields(runtime, pattern, arguments));
//
// What is not supported is refused by name. Thread-compatible.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

// printf-style. `single` is the value that may be a dict for %(name)s; undefined: there is none.
absl::StatusOr<Value> Format(Runtime& runtime, const Text& format, const std::vector<Value>& values, const Value& single);
absl::StatusOr<Value> FormatFields(Runtime& runtime, const Text& pattern, const Arguments& arguments);

}  // namespace tessera::jinja
