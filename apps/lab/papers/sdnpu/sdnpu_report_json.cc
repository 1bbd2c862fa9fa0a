#include <string>
#include <utility>

#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"
#include "tessera/base/json_writer.h"

namespace tessera {

namespace {

constexpr int kDigits = 6;

void WriteParts(JsonWriter& json, const RequestParts& seconds, double scale) {
  json.Key("prefill_seconds").Double(scale * seconds.prefill, kDigits).Key("waiting_seconds").Double(scale * seconds.switching, kDigits);
  json.Key("calibration_seconds").Double(scale * seconds.calibration, kDigits).Key("drafting_seconds");
  json.Double(scale * seconds.drafting, kDigits).Key("pass_seconds").Double(scale * seconds.decode, kDigits);
  json.Key("seconds").Double(scale * seconds.total(), kDigits);
}

// Means over requests.
void WriteSystem(JsonWriter& json, const SystemOnTask& on, const SystemOnTask& full) {
  const double scale = on.requests > 0 ? 1.0 / on.requests : 0;
  json.BeginObject().Key("requests").Int(on.requests).Key("prompt_tokens").Double(scale * on.prompt_tokens, kDigits);
  json.Key("tokens").Double(scale * on.tokens, kDigits).Key("tokens_per_pass").Double(on.tokens_per_pass(), kDigits);
  json.Key("milliseconds_per_token").Double(on.milliseconds_per_token(), kDigits);
  json.Key("decode_milliseconds_per_token").Double(on.decode_milliseconds_per_token(), kDigits);
  WriteParts(json, on.seconds, scale);
  json.Key("energy_relative").Double(full.joules > 0 ? on.joules / full.joules : 0, kDigits).EndObject();
}

void WriteMemory(JsonWriter& json, const SystemMemory& memory) {
  json.BeginObject().Key("npu_weights").Int(memory.npu_weights).Key("cpu_weights").Int(memory.cpu_weights);
  json.Key("cpu_copy").Int(memory.cpu_copy).Key("draft_model").Int(memory.draft_model);
  json.Key("keys_and_values").Int(memory.keys_and_values).Key("activations").Int(memory.activations);
  json.Key("total").Int(memory.total()).EndObject();
}

void WriteShape(JsonWriter& json, const SdnpuShape& shape) {
  json.BeginObject().Key("memory_bytes").BeginObject();
  for (const SdnpuSystem& system : SdnpuSystems()) {
    json.Key(system.key);
    WriteMemory(json, shape.memory[SystemIndex(system.key)]);
  }
  json.EndObject().Key("tasks").BeginObject();
  for (const char* task : kSdnpuTasks) {
    json.Key(task).BeginObject();
    for (const SdnpuSystem& system : SdnpuSystems()) {
      json.Key(system.key);
      WriteSystem(json, shape.On(task, system.key), shape.On(task, "full"));
    }
    json.EndObject();
  }
  json.EndObject().EndObject();
}

void WriteSweeps(JsonWriter& json, const SdnpuReport& report) {
  json.Key("chunks").BeginArray();
  for (const ChunkPoint& point : report.chunks) {
    json.BeginObject().Key("rows").Int(point.rows).Key("prefill_milliseconds").Double(point.prefill_milliseconds, kDigits);
    json.Key("decode_milliseconds").Double(point.decode_milliseconds, kDigits).EndObject();
  }
  json.EndArray().Key("lengths").BeginArray();
  for (const LengthPoint& point : report.lengths) {
    json.BeginObject().Key("rows").Int(point.rows).Key("own_graph_milliseconds").Double(point.own_milliseconds, kDigits);
    json.Key("graph_of_32_milliseconds").Double(point.shared_milliseconds, kDigits).EndObject();
  }
  json.EndArray().Key("cpu_milliseconds").Double(report.cpu_milliseconds, kDigits).Key("rules").BeginObject();
  for (const RulePoint& point : report.rules) {
    json.Key(SwitchRuleName(point.rule)).BeginObject();
    WriteParts(json, point.seconds, 1);
    json.EndObject();
  }
  json.EndObject();
}

void WriteDrafts(JsonWriter& json, const SdnpuReport& report) {
  json.Key("drafts").BeginArray();
  for (const DraftUsage& use : report.drafts) {
    json.BeginObject().Key("drafter").String(use.drafter).Key("task").String(use.task.empty() ? "all" : use.task);
    json.Key("tokens_per_pass").Double(use.tokens_per_pass, kDigits).Key("valid").Double(use.valid, kDigits);
    json.Key("wasted").Double(use.wasted, kDigits).Key("underutilized").Double(use.underutilized, kDigits);
    json.Key("shorter_than_8").Double(use.below_8, kDigits).Key("shorter_than_32").Double(use.below_32, kDigits);
    json.Key("rejected").Int(use.rejected).Key("missing").Double(use.missing, kDigits).Key("synonym").Double(use.synonym, kDigits);
    json.Key("redundant").Double(use.redundant, kDigits).EndObject();
  }
  json.EndArray();
}

// Table 3, to compare.
void WritePublished(JsonWriter& json) {
  json.Key("published").BeginObject();
  for (const PublishedAblation& row : PublishedAblations()) {
    json.Key(row.shape).BeginObject().Key("npu").Double(row.npu).Key("npu_g").Double(row.npu_g).Key("npu_sd").Double(row.npu_sd);
    json.Key("npu_g_sd").Double(row.npu_g_sd).Key("full").Double(row.full).EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string SdnpuReportJson(const SdnpuReport& report) {
  JsonWriter json;
  json.BeginObject().Key("recordings").BeginArray();
  for (const std::string& recording : report.recordings) json.String(recording);
  json.EndArray().Key("ablation_phone").String(report.ablation_phone).Key("breakdown_phone").String(report.breakdown_phone);
  json.Key("sweep_phone").String(report.sweep_phone).Key("phones").BeginObject();
  for (const SdnpuPhone& phone : report.phones) {
    json.Key(phone.name).BeginObject();
    for (const SdnpuShape& shape : phone.shapes) {
      json.Key(shape.name);
      WriteShape(json, shape);
    }
    json.EndObject();
  }
  json.EndObject();
  WriteSweeps(json, report);
  WriteDrafts(json, report);
  WriteOrders(json.Key("orders"), report.orders);
  WritePublished(json);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace tessera
