#include "tessera/apps/cli/adapters/adapter_flags.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/named_options.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::StatusOr<AdapterOptions> AdapterOptionsOfFlags() {
  AdapterOptions options = {.use_adapter = FLAGS_use_adapter,
                            .adapter_folder = FLAGS_adapter_folder,
                            .requests = FLAGS_jsonl,
                            .parallel = FLAGS_parallel,
                            .device = !FLAGS_device.empty()};
  ASSIGN_OR_RETURN(options.adapter, ParseAdapterList(FLAGS_adapter));
  ASSIGN_OR_RETURN(const LoraMode mode, LoraModeFromName(FLAGS_lora_mode));
  if (IsGiven("lora_mode")) options.lora_mode = mode;
  if (FLAGS_adapter_memory.empty()) return options;
  const absl::StatusOr<int64_t> memory = ParseByteSize(FLAGS_adapter_memory);
  RETURN_IF_ERROR(ForField("adapter_memory", memory.status()));
  options.adapter_memory = *memory;
  return options;
}

// Requests are what --jsonl reads.
absl::Status WithNamesOfFlags(const absl::Status& status) {
  const auto name_of = [](absl::string_view option) { return option == "requests" ? std::string("--jsonl") : std::string(option); };
  return WithFlagNames(WithOptionNames(status, name_of));
}

}  // namespace

absl::StatusOr<Adapters> AdaptersOfFlags(EngineOptions& options) {
  ASSIGN_OR_RETURN(AdapterOptions asked, AdapterOptionsOfFlags());
  absl::StatusOr<Adapters> adapters = Adapters::Create(std::move(asked), options);
  if (!adapters.ok()) return WithNamesOfFlags(adapters.status());
  return adapters;
}

std::string ReadsLine(const Adapters& adapters) {
  const std::optional<AdapterCache::Stats> stats = adapters.reads_again();
  if (!stats.has_value()) return "";
  return absl::StrFormat("adapters: read %d times, %s in %.3f s, and summed (SHA-256) in %.3f s, since --adapter_memory has no room "
                         "for all\n", stats->reads, FormatByteSize(stats->read_bytes), stats->read_seconds, stats->sum_seconds);
}

void WriteAdapters(const Workload& workload, JsonWriter& json) {
  if (workload.adapter_bytes == 0) return;
  json.Key("adapters").BeginObject().Key("lora_mode").String(FLAGS_lora_mode).Key("bytes").Int(workload.adapter_bytes);
  json.Key("padding_bytes").Int(workload.adapter_padding).EndObject();
}

}  // namespace tessera
