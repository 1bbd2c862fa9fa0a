// The time of a pass of many rows of one sequence, each with logits. A step of as many sequences is compared with that time.
//
//   ASSIGN_OR_RETURN(const double seconds, SecondsOfRowPass(*engine, /*before=*/prompt, /*rows=*/{7, 8, 9}));
//
// Times are by the engine's clock. Threads: the engine's, one call at a time.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Returns the median time of some passes over `rows`, consecutive tokens of a sequence that follow the tokens `before`, with all rows'
// logits. Logits are computed in parts if the engine has no room for all. Returns the errors of a Session, and InvalidArgument if the
// maximum rows of a pass are fewer. REQUIRES: neither is empty, and the context has room for both.
absl::StatusOr<double> SecondsOfRowPass(Engine& engine, absl::Span<const TokenId> before, absl::Span<const TokenId> rows);

}  // namespace tessera
