// The number of an entry in a model's vocabulary.
//
//   std::vector<TokenId> tokens = {504, 28};
#pragma once

#include <cstdint>

namespace tessera {

using TokenId = int32_t;

}  // namespace tessera
