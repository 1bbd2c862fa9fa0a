// Unwraps results that cannot fail in a right program, in a test: returns the value, or a CHECK failure with the error.
//
//   const auto file = Must(GgufFile::Open(path));
//   Must(device->Run(arguments));
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "glog/logging.h"

namespace tessera {

template <typename T>
T Must(absl::StatusOr<T> result) {
  CHECK(result.ok()) << result.status();
  return *std::move(result);
}
inline void Must(const absl::Status& status) { CHECK(status.ok()) << status; }

}  // namespace tessera
