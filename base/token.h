// The number of an entry in a model's vocabulary.
//
//   const std::vector<TokenId> text = {17, 4, 262};     // what a tokenizer makes of a string, and a model reads
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

using TokenId = int32_t;

}  // namespace tessera
