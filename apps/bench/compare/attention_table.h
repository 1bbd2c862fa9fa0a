// What the parts of a phone NPU's arithmetic cost in perplexity, one after the other: FP16 at the edges of matrices, attention in FP16, and
// 2^x by table. As table 5 of the test-time scaling paper, with this text.
//
//   return ShowAttentionTable(options, text);                  // --table=attention
//
// Every way is compared with FP32 throughout (the reference path); the last with the same attention and exact 2^x, too. Weights are the
// file's, rounded to FP16, so no quantization is in the table. Errors are those of engines. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/runtime/engine/options.h"

namespace tessera {

// REQUIRES: CheckWindowFlags is OK. options.compute.path is not looked at.
absl::Status ShowAttentionTable(const EngineOptions& options, const std::string& text);

}  // namespace tessera
