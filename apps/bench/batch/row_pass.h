// The time of a pass of so many rows of one text, each with logits: what a step of as many texts is held against.
//
//   ASSIGN_OR_RETURN(const double seconds, SecondsOfRowPass(*engine, /*before=*/prompt, /*rows=*/{7, 8, 9}));
//
// By the engine's clock. Threads: the engine's, one call at a time.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// The median of some passes over `rows`, one after another in the text, behind the tokens `before`, with all their logits; these are
// computed in parts where the engine has no room for all. REQUIRES: neither is empty, and the context has room for both. Errors: those of
// a Session, and InvalidArgument if a pass has fewer rows.
absl::StatusOr<double> SecondsOfRowPass(Engine& engine, absl::Span<const TokenId> before, absl::Span<const TokenId> rows);

}  // namespace tessera
