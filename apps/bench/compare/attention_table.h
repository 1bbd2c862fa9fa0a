// Shows the cost in perplexity of the parts of a phone NPU's arithmetic, added one after the other: FP16 at the edges of matrices,
// attention in FP16, and 2^x by table. The table corresponds to table 5 of the test-time scaling paper, with the given text.
//
//   return ShowAttentionTable(options, text);                  // --table=attention
//
// Every row is compared with FP32 throughout (the reference path); the last row also with the same attention and exact 2^x. Weights are the
// file's weights rounded to FP16, so the table contains no quantization. Errors: see Engine. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/runtime/engine/options.h"

namespace tessera {

// Computes and prints the table. options.compute.path is ignored. REQUIRES: CheckWindowFlags is OK.
absl::Status ShowAttentionTable(const EngineOptions& options, const std::string& text);

}  // namespace tessera
