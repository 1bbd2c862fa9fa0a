#include "tessera/apps/bench/compare/attention_table.h"

#include <memory>
#include <utility>

#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/text/text_windows.h"
#include "tessera/apps/compare/comparison_table.h"
#include "tessera/apps/compare/logit_comparison.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {
namespace {

// An engine and its only session.
struct Way {
  std::string name = {};
  std::unique_ptr<Engine> engine = nullptr;
  std::unique_ptr<Session> session = nullptr;
};

absl::StatusOr<Way> Open(std::string name, const EngineOptions& options) {
  Way way = {.name = std::move(name)};
  ASSIGN_OR_RETURN(way.engine, Engine::Load(options));
  ASSIGN_OR_RETURN(way.session, way.engine->NewSession());
  return way;
}

absl::StatusOr<Way> OpenNpu(std::string name, EngineOptions options, int kv_block, HmxExp exp) {
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.compute.kernels));
  options.compute.path = ComputePath::kNpu;
  options.compute.recipe = "fp16";
  options.compute.make_device = [kernels, kv_block, exp](ThreadPool& pool) -> absl::StatusOr<std::unique_ptr<Device>> {
    return std::make_unique<HmxDevice>(pool, HmxDevice::Options{.path = kernels, .kv_block = kv_block, .exp = exp});
  };
  return Open(std::move(name), options);
}

class AttentionTable {
 public:
  AttentionTable(const TextWindows& windows, int comparisons)
      : windows_(windows), progress_("tokens", comparisons * TokensOf(windows)) {}

  absl::Status Compare(const Way& yardstick, const Way& way) {
    ComparedWay compared = {.name = way.name, .yardstick = yardstick.name};
    RETURN_IF_ERROR(CompareLogits(*yardstick.session, *way.session, windows_, compared.comparison, [this](int64_t tokens) {
      done_ += tokens;
      progress_.Update(done_);
    }));
    table_.Add(std::move(compared));
    return absl::OkStatus();
  }
  const ComparisonTable& table() const { return table_; }

 private:
  static int64_t TokensOf(const TextWindows& windows) {
    int64_t tokens = 0;
    for (const std::vector<TokenId>& window : windows) tokens += static_cast<int64_t>(window.size()) - 1;
    return tokens;
  }

  const TextWindows& windows_;
  Progress progress_;
  int64_t done_ = 0;
  ComparisonTable table_{"arithmetic"};
};

absl::StatusOr<std::string> TableOf(const EngineOptions& options, const std::string& text) {
  EngineOptions plain = options;
  plain.compute.path = ComputePath::kReference;
  plain.compute.kernels = "auto";   // The reference path has no kernels.
  ASSIGN_OR_RETURN(const Way reference, Open("FP32", plain));
  ASSIGN_OR_RETURN(const TextWindows windows, WindowsOf(reference.engine->tokenizer(), text));
  AttentionTable table(windows, /*comparisons=*/4);
  {
    ASSIGN_OR_RETURN(const Way edges, OpenNpu("FP16 at matrix edges", options, /*kv_block=*/0, HmxExp::kTable));
    RETURN_IF_ERROR(table.Compare(reference, edges));
  }
  ASSIGN_OR_RETURN(const Way exact, OpenNpu("and FP16 attention, exact 2^x", options, HmxDevice::kDefaultKvBlock, HmxExp::kExact));
  RETURN_IF_ERROR(table.Compare(reference, exact));
  ASSIGN_OR_RETURN(const Way lookup, OpenNpu("and FP16 attention, 2^x by table", options, HmxDevice::kDefaultKvBlock, HmxExp::kTable));
  RETURN_IF_ERROR(table.Compare(reference, lookup));
  RETURN_IF_ERROR(table.Compare(exact, lookup));
  return FLAGS_json ? table.table().ToJson() : table.table().ToString();
}

}  // namespace

absl::Status ShowAttentionTable(const EngineOptions& options, const std::string& text) {
  ASSIGN_OR_RETURN(const std::string shown, TableOf(options, text));   // The progress line of TableOf is gone by then.
  return WriteOutput(shown);
}

}  // namespace tessera
