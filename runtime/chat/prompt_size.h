// Refuses a prompt whose tokens cannot fit into the context, before weights are loaded. (The size in bytes is checked before encoding:
// request_limits.h.)
//
//   RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine->context()));
//
// Threads: thread-safe.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns ResourceExhausted (found, expected; limited by `context`, base/usage_error.h) for too many tokens. InvalidArgument for no tokens.
absl::Status CheckTokensFit(size_t tokens, int context);

}  // namespace tessera
