// Decides which variable each name of a template means, by the rules of Jinja's compiler: a name is resolved by its place in the template,
// not at run time.
//
//   RETURN_IF_ERROR(ResolveNames(syntax));       // every Expression::slot and Target::slot is set
//
// A loop, a macro, and the body of set, filter, call, with and generation each have a frame. A variable that a body assigns belongs to the
// body's frame, and starts with the value of the outer variable. A loop therefore cannot change a variable outside the loop. Unknown
// filters and tests are errors, found here. Within an `if`, an unknown filter or test is an error only if a run reaches it. Thread-safe (a
// pure function).
#pragma once

#include "absl/status/status.h"
#include "tessera/model/text/jinja/internal/syntax.h"

namespace tessera::jinja {

absl::Status ResolveNames(Syntax& syntax);

}  // namespace tessera::jinja
