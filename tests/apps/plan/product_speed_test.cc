// tessera_bench products.
#include "tessera/runtime/plan/product_speed.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

TEST(ProductSpeed, EveryFormatIsTimedForEveryNumberOfRowsBesideThePeak) {
  const Ended ended = RunProgram("tessera_bench products", {"--json", "--repetitions=1", "--kernels=portable"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue report = *JsonValue::Parse(ended.output);
  EXPECT_EQ(*report.String("kernels"), "portable");
  const JsonValue products = *report.Array("products");
  ASSERT_EQ(products.size(), kBlockFormats + 2) << "two of them fine, too";
  int64_t fine = 0;
  for (int64_t i = 0; i < products.size(); ++i) {
    const JsonValue product = products[i];
    fine += *product.Bool("fine") ? 1 : 0;
    EXPECT_GT(*product.Double("peak"), 1e6) << *product.String("format");
    const JsonValue rows = *product.Array("rows");
    EXPECT_EQ(*rows[0].Int("rows"), 1);
    EXPECT_EQ(*rows[rows.size() - 1].Int("rows"), 64);
    for (int64_t r = 0; r < rows.size(); ++r) EXPECT_GT(*rows[r].Double("operations_per_second"), 1e6) << *product.String("format");
  }
  EXPECT_EQ(fine, 2);
}

TEST(ProductSpeed, TakesNoModel) {
  EXPECT_EQ(RunProgram("tessera_bench products", {"--model=" + TinyPath("llama")}).code, 2);
  const Ended ended = RunProgram("tessera_bench products", {"--repetitions=1"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "Q4_K")) << ended.output;
}

TEST(ProductSpeed, HeaderExample) {
  const auto example = []() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<ProductSpeed> speeds, MeasureProducts(KernelPath::kPortable, /*repetitions=*/1));
    EXPECT_TRUE(absl::StrContains(ProductSpeedsText(speeds), "Q4_0"));
    return absl::OkStatus();
  };
  EXPECT_TRUE(example().ok());
}

}  // namespace
}  // namespace tessera
