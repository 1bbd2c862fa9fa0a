// Decides which variable each name of a template means, as Jinja's compiler does: names are resolved where they stand, not when they run.
//
//   RETURN_IF_ERROR(ResolveNames(syntax));       // every Expression::slot and Target::slot is set
//
// A loop, a macro, and the body of set, filter, call, with and generation each have a frame. What a body assigns is its frame's own; it
// begins with the outer variable's value. So a loop cannot change a variable outside of it. Unknown filters and tests are found here,
// too: they are an error, but within `if`, where they are one only if they are reached. Thread-safe (a pure function).
#pragma once

#include "absl/status/status.h"
#include "tessera/model/text/jinja/internal/syntax.h"

namespace tessera::jinja {

absl::Status ResolveNames(Syntax& syntax);

}  // namespace tessera::jinja
