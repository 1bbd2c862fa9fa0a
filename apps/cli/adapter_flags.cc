#include "tessera/apps/cli/adapter_flags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/load_adapter.h"
#include "tessera/runtime/chat/request.h"

namespace tessera {
namespace {

constexpr char kNoAdapter[] = "none";
constexpr char kForm[] = "NAME:PATH or NAME:PATH:SCALE, with commas between";

absl::StatusOr<AdapterSource> SourceOf(absl::string_view item) {
  const size_t colon = item.find(':');
  if (colon == absl::string_view::npos) return WrongUsage("adapter", Quoted(item), absl::StrCat(kForm, ": no path may have one"));
  absl::string_view path = item.substr(colon + 1);
  AdapterSource source = {.name = std::string(item.substr(0, colon))};
  float scale = 1;
  const size_t last = path.rfind(':');
  if (last != absl::string_view::npos && absl::SimpleAtof(path.substr(last + 1), &scale)) {
    if (!std::isfinite(scale)) return WrongUsage("adapter", Quoted(item), "a scale that is a finite number");
    source.scale = scale;
    path = path.substr(0, last);
  }
  source.path = std::string(path);
  if (source.name.empty() || source.path.empty()) return WrongUsage("adapter", Quoted(item), kForm);
  if (source.name == kNoAdapter || !IsPrintableUtf8(source.name)) {
    return WrongUsage("adapter", absl::StrCat("the name ", Quoted(source.name)), "printable text other than none");
  }
  return source;
}

}  // namespace

absl::StatusOr<std::vector<AdapterSource>> ParseAdapterList(absl::string_view list) {
  std::vector<AdapterSource> sources;
  if (list.empty()) return sources;
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    ASSIGN_OR_RETURN(AdapterSource source, SourceOf(item));
    const auto has_its_name = [&](const AdapterSource& other) { return other.name == source.name; };
    if (std::any_of(sources.begin(), sources.end(), has_its_name)) {
      return WrongUsage("adapter", absl::StrCat("the name ", Quoted(source.name), " twice"), "a name for each");
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

absl::Status Adapters::Choose(const std::vector<AdapterSource>& sources) {
  for (const AdapterSource& source : sources) names_.push_back(source.name);
  if (IsGiven("use_adapter")) {
    if (names_.empty()) return WrongUsage("use_adapter", "without --adapter", "both");
    if (FLAGS_use_adapter == kNoAdapter) return absl::OkStatus();
    const auto found = std::find(names_.begin(), names_.end(), FLAGS_use_adapter);
    if (found == names_.end()) {
      return WrongUsage("use_adapter", Quoted(FLAGS_use_adapter), absl::StrCat("none, or one of ", absl::StrJoin(names_, ", ")));
    }
    chosen_ = static_cast<int>(found - names_.begin());
    return absl::OkStatus();
  }
  if (names_.size() > 1 && !FLAGS_jsonl) {
    return WrongUsage("adapter", absl::StrCat(names_.size(), " of them without --jsonl"), "one, or --use_adapter=NAME");
  }
  if (names_.size() == 1) chosen_ = 0;
  return absl::OkStatus();
}

absl::Status Adapters::Read(const std::vector<AdapterSource>& sources, EngineOptions& options) {
  if (sources.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, ModelFile::Open(options.model_path, ModelFile::Weights::kLater, options.cancel));
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(model->gguf()));
  for (const AdapterSource& source : sources) {
    ASSIGN_OR_RETURN(const AdapterFile file, ReadAdapter(source.path, model->gguf(), config));
    ASSIGN_OR_RETURN(LoraAdapter adapter, MakeLoraAdapter(file, config, source.scale));
    options.workload.adapter_bytes += adapter.bytes();
    loaded_.push_back(std::move(adapter));
  }
  return absl::OkStatus();
}

absl::StatusOr<Adapters> Adapters::OfFlags(EngineOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<AdapterSource> sources, ParseAdapterList(FLAGS_adapter));
  Adapters adapters;
  RETURN_IF_ERROR(adapters.Choose(sources));
  if (!sources.empty() && !FLAGS_device.empty()) {
    return WrongUsage("adapter", "it beside --device", "one of them: a phone's time does not count adapters that are read");
  }
  RETURN_IF_ERROR(adapters.Read(sources, options));
  return adapters;
}

const LoraAdapter* Adapters::Named(const std::optional<std::string>& name) const {
  if (!name.has_value()) return chosen();
  if (name->empty()) return nullptr;
  const auto found = std::find(names_.begin(), names_.end(), *name);
  CHECK(found != names_.end()) << *name;
  return &loaded_[static_cast<size_t>(found - names_.begin())];
}

absl::StatusOr<const LoraAdapter*> Adapters::OfRequest(const JsonValue& body) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> name, AdapterNameOf(body, names_));
  return Named(name);
}

absl::Status UseAdapter(Engine& engine, const LoraAdapter* adapter, std::unique_ptr<Session>& session) {
  if (session != nullptr && session->adapter() == adapter) return absl::OkStatus();
  ASSIGN_OR_RETURN(session, engine.NewSession({.adapter = adapter}));
  return absl::OkStatus();
}

}  // namespace tessera
