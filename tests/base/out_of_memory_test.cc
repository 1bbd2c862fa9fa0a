#include "tessera/base/out_of_memory.h"

#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using Model = std::string;

TEST(OutOfMemory, HeaderExample) {
  const auto OpenUnguarded = [](const std::string& path) -> absl::StatusOr<Model> {
    if (path == "too large") throw std::bad_alloc();
    return path;
  };
  const auto Open = [&](const std::string& path) -> absl::StatusOr<Model> {
    return OrOutOfMemory([&] { return OpenUnguarded(path); });
  };
  EXPECT_EQ(*Open("model"), "model");
  EXPECT_EQ(Open("too large").status(), absl::ResourceExhaustedError("out of memory"));
}

}  // namespace
}  // namespace tessera
