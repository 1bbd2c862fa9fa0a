// The number of an entry in a model's vocabulary: 0 for the first.
//
//   std::vector<TokenId> tokens = {1, 15043, 3186};      // A text, as a tokenizer has cut it.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

using TokenId = int32_t;

}  // namespace tessera
