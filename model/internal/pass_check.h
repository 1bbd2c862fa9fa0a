// Checks each row of a pass, and the rows against each other, before any computation.
//
//   RETURN_IF_ERROR(CheckPassRows(rows, config, cache, /*most_rows=*/512));
//
// Threads: thread-safe (pure functions).
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/pass.h"

namespace tessera {

// Checks tokens, positions, adapters and paths, each row alone. Returns InvalidArgument: "row 3: token: found 300, expected 0 to 264".
absl::Status CheckPassRows(absl::Span<const PassRow> rows, const ModelConfig& config, const KvCache& cache, int most_rows);

// Makes an error of CheckPassRows.
absl::Status RowError(int64_t row, absl::string_view what, int64_t found, absl::string_view expected);

}  // namespace tessera
