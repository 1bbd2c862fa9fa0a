// Refuses a prompt whose tokens cannot fit into the context, before weights are loaded. (By its bytes, before they are encoded:
// request_limits.h.)
//
//   RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine->context()));
//
// ResourceExhausted with what was found and what expected, limited by `context` (base/usage_error.h). Thread-safe.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// InvalidArgument for no tokens.
absl::Status CheckTokensFit(size_t tokens, int context);

}  // namespace tessera
