// What graphs cost in each form: costs as they were before graphs had one, and the same or less after each pass.
#include "tessera/runtime/plan/form_costs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/phone/phone_report_text.h"
#include "tessera/base/json.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/npu/graph_passes.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

PassCoster CosterOf(const char* shape_name, const DeviceProfile& profile, const char* style_name, int adapter_rank = 0) {
  const std::unique_ptr<GgufFile> shape = Must(OpenKnownShape(shape_name));
  const ModelConfig config = Must(ReadModelConfig(*shape));
  const WeightLayout layout = Must(WeightLayout::Plan(*shape, config, WeightEncoding::kPacked));
  const ExecutionStyle style = Must(ExecutionStyleByName(style_name));
  return Must(PassCoster::Create(config, layout, Must(WeightRecipe::Parse(RecipeOfStyle(style))), profile,
                                 {.style = style, .context = 2048, .adapter_rank = adapter_rank}));
}

TEST(FormCosts, HeaderExample) {
  const PassCoster coster = CosterOf("qwen3-0.6b", Must(LoadDeviceProfile("8gen3")), "static");
  const PassShape chunk = {.rows = 128, .positions = 128}, row = {.rows = 1, .positions = 600};
  const std::vector<FormCost> costs = Must(CostsByForm(coster, chunk, row));
  ASSERT_EQ(costs.size(), 1 + GraphPasses().size());
  EXPECT_EQ(costs[0].name, "none");
  for (const FormCost& cost : costs) {
    EXPECT_TRUE(absl::StrContains(FormCostsText(costs), cost.name)) << cost.name;
    EXPECT_LT(cost.row_seconds, cost.chunk_seconds) << cost.name;
  }
}

void ExpectNoPassCosts(const PassCoster& coster, const std::string& what) {
  const PassShape chunk = {.rows = 128, .positions = 128}, row = {.rows = 1, .positions = 600};
  const std::vector<FormCost> costs = Must(CostsByForm(coster, chunk, row));
  for (size_t i = 1; i < costs.size(); ++i) {
    EXPECT_LE(costs[i].chunk_seconds, costs[i - 1].chunk_seconds) << what << ", " << costs[i].name;
    EXPECT_LE(costs[i].row_seconds, costs[i - 1].row_seconds) << what << ", " << costs[i].name;
    EXPECT_GE(costs[i].chunk_seconds_without, costs[0].chunk_seconds_without) << what << ", " << costs[i].name;
    EXPECT_GE(costs[i].row_seconds_without, costs[0].row_seconds_without) << what << ", " << costs[i].name;
  }
  EXPECT_LT(costs.back().row_seconds, costs[0].row_seconds) << what;
  const double chunk_seconds = Must(coster.Of(chunk)).seconds, row_seconds = Must(coster.Of(row)).seconds;
  for (const double all : {costs.back().chunk_seconds, costs[0].chunk_seconds_without}) EXPECT_EQ(all, chunk_seconds) << what;
  for (const double all : {costs.back().row_seconds, costs[0].row_seconds_without}) EXPECT_EQ(all, row_seconds) << what;
}

TEST(FormCosts, NoPassMakesAnyModelDearerOnAnyPhone) {
  for (const std::string& device : DeviceProfileNames()) {
    const DeviceProfile profile = Must(LoadDeviceProfile(device));
    for (const KnownShape& shape : KnownShapes()) {
      ExpectNoPassCosts(CosterOf(shape.name, profile, "static"), absl::StrCat(device, " ", shape.name));
    }
  }
  const DeviceProfile profile = Must(LoadDeviceProfile("8gen2"));
  for (const KnownShape& shape : KnownShapes()) ExpectNoPassCosts(CosterOf(shape.name, profile, "unshared", 16), shape.name);
}

// A phone whose numbers no fit will change.
DeviceProfile FixedPhone() {
  DeviceProfile profile = Must(LoadDeviceProfile("8gen3"));
  profile.matrix_tiles_per_second = 2e8;
  profile.matrix_integer_speedup = 2;
  profile.matrix_efficiency = 0.5;
  profile.vector_threads = 4;
  profile.vector_hertz = 1.5e9;
  profile.dequantize_packets = 20;
  profile.dequantize_static_packets = 80;
  profile.softmax_packets = 40;
  profile.softmax_integer_packets = 45;
  profile.row_packets = 6;
  profile.row_integer_packets = 10;
  profile.tcm_bytes = 8388608;
  profile.dma_bytes_per_second = 6e10;
  profile.vector_bytes_per_second = 2.5e10;
  profile.call_seconds = 4e-4;
  profile.operator_seconds = 2.5e-5;
  profile.mailbox_seconds = 1e-4;
  profile.kernel_seconds = 2e-5;
  profile.cpu_products_per_second = 3e11;
  profile.cpu_bytes_per_second = 4e10;
  profile.cpu_scores_per_second = 1e11;
  return profile;
}

// What tessera_inspect --device said of this phone before graphs had a form, in milliseconds: all passes done is what was
// fitted to published times. Whoever changes the model of costs on purpose changes these numbers with it.
TEST(FormCosts, TransformedGraphsKeepTheirCostsToTheDigit) {
  struct Before { const char* style; const char* shape; int adapter_rank; const char* one; const char* chunk; };
  constexpr Before kBefore[] = {
      {"static", "llama-3.2-1b", 0, "21.3016", "53.4263"},      {"static", "llama-3.2-1b", 16, "27.2774", "59.9069"},
      {"static", "qwen3-0.6b", 0, "22.0581", "49.2886"},        {"static", "gemma-3-1b", 16, "34.7265", "47.7611"},
      {"static", "qwen2.5-1.5b", 0, "28.7022", "60.9789"},      {"static", "qwen2.5-1.5b", 16, "39.1177", "72.2214"},
      {"unshared", "llama-3.2-1b", 0, "30.9304", "190.477"},    {"unshared", "qwen3-0.6b", 16, "37.8021", "190.168"},
      {"unshared", "gemma-3-1b", 0, "33.4885", "178.571"},      {"unshared", "qwen2.5-1.5b", 16, "50.878", "217.26"},
      {"operators", "llama-3.2-1b", 0, "37.267", "196.773"},    {"operators", "qwen2.5-1.5b", 16, "57.3741", "227.207"}};
  for (const Before& before : kBefore) {
    const PassCoster coster = CosterOf(before.shape, FixedPhone(), before.style, before.adapter_rank);
    const auto milliseconds = [&](int rows) {
      return absl::StrFormat("%.6g", Must(coster.Of({.rows = rows, .positions = 1100 + rows, .logit_rows = rows})).seconds * 1e3);
    };
    EXPECT_EQ(milliseconds(1), before.one) << before.style << " " << before.shape << " " << before.adapter_rank;
    EXPECT_EQ(milliseconds(128), before.chunk) << before.style << " " << before.shape << " " << before.adapter_rank;
  }
}

TEST(FormCosts, AReportOfStaticGraphsHasThem) {
  for (const char* style : {"operators", "static", "unshared"}) {
    const PhoneReport report = Must(MakePhoneReport({.device = absl::StrCat("8gen3:", style), .shape = "qwen3-0.6b", .rows = {1}}));
    const JsonValue json = Must(JsonValue::Parse(PhoneReportJson(report), "report"));
    const JsonValue passes = Must(json.Array("graph_passes"));
    const bool has = report.phone.style.static_graphs;
    EXPECT_EQ(absl::StrContains(PhoneReportText(report), "linear as 1x1 convolution"), has) << style;
    ASSERT_EQ(passes.size(), has ? 6 : 0) << style;
    if (!has) continue;
    EXPECT_EQ(report.forms.back().row_seconds, report.passes[0].seconds) << style;
    const JsonValue last = passes[5];
    EXPECT_EQ(Must(last.String("pass")), "keys transposed");
    EXPECT_EQ(Must(last.Double("row_milliseconds")), Must(Must(json.Object("pass_milliseconds")).Double("1"))) << style;
    EXPECT_GE(Must(last.Double("chunk_milliseconds_without")), Must(last.Double("chunk_milliseconds"))) << style;
  }
}

}  // namespace
}  // namespace tessera
