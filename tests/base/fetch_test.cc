#include "tessera/base/fetch.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(Fetch, HeaderExample) {
  const std::vector<float> row(100, 1.0f);
  std::vector<float> sums(16, 2.0f);
  FetchLines(row.data(), static_cast<int64_t>(row.size() * sizeof(float)));
  FetchToWrite(sums.data());
  EXPECT_EQ(row, std::vector<float>(100, 1.0f));
  EXPECT_EQ(sums, std::vector<float>(16, 2.0f));
}

TEST(Fetch, AnyAddressWillDo) {
  FetchLines(nullptr, 1024);
  FetchToWrite(nullptr);
  FetchLines(reinterpret_cast<const void*>(&FetchLines), 1);  // Code, which nobody may write.
  FetchToWrite(reinterpret_cast<const void*>(&FetchLines));
}

}  // namespace
}  // namespace tessera
