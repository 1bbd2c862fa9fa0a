// That an older standard is refused, scripts/tests/test_consumers.sh tries for the headers of every layer.
#include "tessera/base/cpp20.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Cpp20, HeaderExample) { EXPECT_GE(__cplusplus, 202002L); }

}  // namespace
}  // namespace tessera
