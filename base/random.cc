#include "tessera/base/random.h"

#include "glog/logging.h"

namespace tessera {

int64_t SeededRandom::Below(int64_t n) {
  CHECK_GT(n, 0);
  const uint64_t range = static_cast<uint64_t>(n), rejected = -range % range;  // 2^64 mod n values would come too often.
  uint64_t value = Next();
  while (value < rejected) value = Next();
  return static_cast<int64_t>(value % range);
}

}  // namespace tessera
