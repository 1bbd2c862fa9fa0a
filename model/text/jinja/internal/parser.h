// Parses a template into its syntax tree.
//
//   ASSIGN_OR_RETURN(const Syntax syntax, Parse("{% for m in messages %}{{ m.content }}{% endfor %}"));
//
// Errors: line, found and expected. Nesting is limited. Blocks of several files (include, import, extends, block) and recursive loops are
// refused by name. Threads: thread-safe (a pure function).
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/jinja/internal/syntax.h"

namespace tessera::jinja {

absl::StatusOr<Syntax> Parse(absl::string_view source);

}  // namespace tessera::jinja
