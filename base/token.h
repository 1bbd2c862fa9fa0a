// The number of an entry in a model's vocabulary.
//
//   TokenId token = vocabulary.eos();
#pragma once

#include <cstdint>

namespace tessera {

using TokenId = int32_t;

}  // namespace tessera
