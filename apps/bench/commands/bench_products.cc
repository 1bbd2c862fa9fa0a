// tessera_bench products: the speed of each block format's products in cache. No model is loaded.
#include <utility>

#include "absl/strings/str_format.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/plan/product_speed.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckRepetitions());
  const absl::StatusOr<KernelPath> path = KernelPathFromName(FLAGS_kernels);
  RETURN_IF_ERROR(ForField("kernels", path.status()));
  ASSIGN_OR_RETURN(const std::vector<ProductSpeed> speeds, MeasureProducts(*path, FLAGS_repetitions));
  if (!FLAGS_json) {
    return WriteOutput(absl::StrFormat("kernels %s, 1 thread, %d repetitions\n\n%s", KernelPathName(*path), FLAGS_repetitions,
                                       ProductSpeedsText(speeds)));
  }
  JsonWriter json;
  json.BeginObject().Key("kernels").String(KernelPathName(*path)).Key("repetitions").Int(FLAGS_repetitions);
  WriteProductSpeeds(json.Key("products"), speeds);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

}  // namespace

Command BenchProducts() {
  return {{.subcommand = "products",
           .summary = "Speed of each block format's products, weights in cache, one thread. No model is loaded.",
           .examples = {"tessera_bench products", "tessera_bench products --kernels avx2"},
           .groups = {{"Measurement", {"repetitions", "kernels"}}, {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
