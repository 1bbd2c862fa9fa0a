#include "tessera/runtime/adapters/adapter_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/named_options.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kAdapter[] = "adapter", kUse[] = "use_adapter", kMode[] = "lora_mode", kMemory[] = "adapter_memory";
constexpr char kFolder[] = "adapter_folder", kRequests[] = "requests", kDevice[] = "device";
constexpr char kForm[] = "NAME:PATH or NAME:PATH:SCALE, with commas between";

absl::StatusOr<AdapterSource> SourceOf(absl::string_view item) {
  const size_t colon = item.find(':');
  if (colon == absl::string_view::npos) return WrongUsage(kAdapter, Quoted(item), absl::StrCat(kForm, ": no path may have one"));
  absl::string_view path = item.substr(colon + 1);
  AdapterSource source = {.name = std::string(item.substr(0, colon))};
  float scale = 1;
  const size_t last = path.rfind(':');
  if (last != absl::string_view::npos && absl::SimpleAtof(path.substr(last + 1), &scale)) {
    if (!std::isfinite(scale)) return WrongUsage(kAdapter, Quoted(item), "a scale that is a finite number");
    source.scale = scale;
    path = path.substr(0, last);
  }
  source.path = std::string(path);
  if (source.name.empty() || source.path.empty()) return WrongUsage(kAdapter, Quoted(item), kForm);
  return source;
}

absl::Status CheckSources(const std::vector<AdapterSource>& sources) {
  for (auto source = sources.begin(); source != sources.end(); ++source) {
    if (source->name.empty() || source->path.empty()) return WrongUsage(kAdapter, "one without a name or a path", "both");
    if (source->name == kNoAdapter || !IsPrintableUtf8(source->name)) {
      return WrongUsage(kAdapter, absl::StrCat("the name ", Quoted(source->name)), "printable text other than none");
    }
    if (!std::isfinite(source->scale)) return WrongUsage(kAdapter, absl::StrCat("the scale ", source->scale), "a finite number");
    const auto has_its_name = [&](const AdapterSource& other) { return other.name == source->name; };
    if (std::any_of(sources.begin(), source, has_its_name)) {
      return WrongUsage(kAdapter, absl::StrCat("the name ", Quoted(source->name), " twice"), "a name for each");
    }
  }
  return absl::OkStatus();
}

bool HasNone(const AdapterOptions& options) { return options.adapter.empty() && options.adapter_folder.empty(); }

// Whether each text has an adapter that somebody chose.
absl::Status CheckChoice(const AdapterOptions& options) {
  if (!options.use_adapter.empty()) {
    return HasNone(options) ? NamingOptions({kAdapter}, WrongUsage(kUse, "without adapter", "both")) : absl::OkStatus();
  }
  if (options.requests) return absl::OkStatus();
  if (!options.adapter_folder.empty()) {
    return NamingOptions({kRequests, kUse}, WrongUsage(kFolder, "without requests", "it, or use_adapter=NAME"));
  }
  if (options.adapter.size() <= 1) return absl::OkStatus();
  return NamingOptions({kRequests, kUse}, WrongUsage(kAdapter, absl::StrCat(options.adapter.size(), " of them without requests"),
                                                     "one, or use_adapter=NAME"));
}

absl::Status CheckFolder(const AdapterOptions& options) {
  if (options.adapter_folder.empty()) return absl::OkStatus();
  if (!options.adapter_memory.has_value()) {
    return NamingOptions({kMemory}, WrongUsage(kFolder, "without adapter_memory", "both: requests name as many as they like"));
  }
  const LoraMode mode = options.lora_mode.value_or(LoraMode::kGraph);
  if (mode == LoraMode::kGraph) return absl::OkStatus();
  return NamingOptions({kMode}, WrongUsage(kFolder, absl::StrCat("with lora_mode=", LoraModeName(mode)),
                                           "graph: ranks that requests bring are not known before"));
}

absl::Status CheckDevice(const AdapterOptions& options) {
  if (HasNone(options) || !options.device) return absl::OkStatus();
  if (options.adapter_memory.has_value()) {
    return NamingOptions({kDevice},
                         WrongUsage(kMemory, "with device", "one of them: a phone's time does not count adapters that are read"));
  }
  if (!options.requests || options.parallel <= 1) return absl::OkStatus();
  return NamingOptions({"adapter and", kDevice}, WrongUsage("parallel", absl::StrCat(options.parallel, " with adapter and device"),
                                                            "1: a phone's graph has one adapter at a time"));
}

}  // namespace

absl::StatusOr<std::vector<AdapterSource>> ParseAdapterList(absl::string_view list) {
  std::vector<AdapterSource> sources;
  if (list.empty()) return sources;
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    ASSIGN_OR_RETURN(AdapterSource source, SourceOf(item));
    sources.push_back(std::move(source));
  }
  RETURN_IF_ERROR(CheckSources(sources));
  return sources;
}

absl::Status CheckAdapterOptions(const AdapterOptions& options) {
  RETURN_IF_ERROR(CheckSources(options.adapter));
  if (options.parallel < 1) return WrongUsage("parallel", options.parallel, "1 or more");
  RETURN_IF_ERROR(CheckChoice(options));
  if (HasNone(options) && options.lora_mode.has_value()) return NamingOptions({kAdapter}, WrongUsage(kMode, "without adapter", "both"));
  if (HasNone(options) && options.adapter_memory.has_value()) {
    return NamingOptions({kAdapter}, WrongUsage(kMemory, "without adapter", "both"));
  }
  RETURN_IF_ERROR(CheckFolder(options));
  return CheckDevice(options);
}

}  // namespace tessera
