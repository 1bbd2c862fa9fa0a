// Reads a size as people write it, and one that is no size: a value and an error come through the library's interface.
#include <iostream>

#include "tessera/base/byte_size.h"

int main() {
  const absl::StatusOr<int64_t> size = tessera::ParseByteSize("1.5GiB");
  const absl::Status error = tessera::ParseByteSize("many").status();
  const bool right = size.ok() && *size == 1610612736 && error.code() == absl::StatusCode::kInvalidArgument;
  std::cout << "base: 1.5GiB is " << size.value_or(-1) << " bytes; " << error.message() << "\n";
  return right ? 0 : 1;
}
