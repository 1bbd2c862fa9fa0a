#include "tessera/tensor/operator_variants.h"

#include <gtest/gtest.h>

#include "tessera/tensor/reference_ops.h"

namespace tessera {
namespace {

TEST(OperatorVariants, HeaderExample) {
  struct Model { Activation activation = Activation::kSilu; RopePairs pairs = RopePairs::kAdjacent; };
  const Model model = {.activation = Activation::kGeluTanh};
  const auto gated = model.activation == Activation::kSilu ? reference::GatedSilu : reference::GatedGeluTanh;
  EXPECT_EQ(gated, &reference::GatedGeluTanh);
  EXPECT_EQ(Model().pairs, RopePairs::kAdjacent);
}

}  // namespace
}  // namespace tessera
