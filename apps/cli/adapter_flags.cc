#include "tessera/apps/cli/adapter_flags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/base/byte_size.h"
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
constexpr size_t kMostOpenFiles = 256;   // For adapters that memory may not have: others are opened and checked each time.

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

// The model that adapters are for, without its weights.
struct BaseModel {
  static absl::StatusOr<BaseModel> Open(const EngineOptions& options) {
    BaseModel base;
    ASSIGN_OR_RETURN(base.file, ModelFile::Open(options.model_path, ModelFile::Weights::kLater, options.cancel));
    ASSIGN_OR_RETURN(base.config, ReadModelConfig(base.file->gguf()));
    base.marked = std::make_unique<MarkedModel>(*base.file);
    return base;
  }
  // open: of the source's file; null: it is opened for this.
  absl::StatusOr<LoraAdapter> Read(const AdapterSource& source, const AdapterReader* open = nullptr) const {
    if (open != nullptr) return ReadLoraAdapter(*open, config, source.scale);
    ASSIGN_OR_RETURN(const std::unique_ptr<AdapterReader> reader, AdapterReader::Open(source.path, *marked, config));
    return ReadLoraAdapter(*reader, config, source.scale);
  }

  std::unique_ptr<ModelFile> file = nullptr;
  std::unique_ptr<MarkedModel> marked = nullptr;   // The file.
  ModelConfig config = {};
};

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
  if (!FLAGS_adapter_memory.empty()) return ReadAsNamed(sources, options);
  ASSIGN_OR_RETURN(const BaseModel base, BaseModel::Open(options));
  std::vector<LoraAdapter> adapters;
  for (const AdapterSource& source : sources) {
    ASSIGN_OR_RETURN(LoraAdapter adapter, base.Read(source));
    adapters.push_back(std::move(adapter));
  }
  ASSIGN_OR_RETURN(AdapterSet set, AdapterSet::Create(mode_, std::move(adapters), base.config));
  options.workload.adapter_bytes = set.bytes();
  options.workload.adapter_padding = set.padding_bytes();
  set_ = std::make_shared<const AdapterSet>(std::move(set));
  return absl::OkStatus();
}

// Ranks are those of all files, whichever of them memory holds.
absl::Status Adapters::ReadAsNamed(const std::vector<AdapterSource>& sources, EngineOptions& options) {
  const absl::StatusOr<int64_t> most = ParseByteSize(FLAGS_adapter_memory);
  if (!most.ok()) return ForField("adapter_memory", most.status());
  if (mode_ == LoraMode::kMask) return WrongUsage("adapter_memory", "with --lora_mode=mask", "input or graph: a mask has all in memory");
  ASSIGN_OR_RETURN(BaseModel opened, BaseModel::Open(options));
  const auto base = std::make_shared<const BaseModel>(std::move(opened));
  const std::vector<LoraShape> shapes = LoraShapesOf(base->config);
  std::vector<LoraPlan> plans;
  std::vector<std::shared_ptr<const AdapterReader>> readers;   // By source: what was checked need not be checked again.
  std::vector<int> largest;
  for (const AdapterSource& source : sources) {
    ASSIGN_OR_RETURN(std::shared_ptr<const AdapterReader> reader, AdapterReader::Open(source.path, *base->marked, base->config));
    plans.push_back(PlanLoraAdapter(reader->shapes(), base->config));
    RaiseRanks(plans.back().ranks, largest);
    readers.push_back(readers.size() < kMostOpenFiles ? std::move(reader) : nullptr);
  }
  cache_ = std::make_unique<AdapterCache>(AdapterCache::Options{.most_bytes = *most});
  const bool pads = mode_ == LoraMode::kInput;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t own = plans[i].BytesPaddedTo(plans[i].ranks, shapes), bytes = pads ? plans[i].BytesPaddedTo(largest, shapes) : own;
    paddings_.push_back(bytes - own);
    cache_->Add({.name = names_[i], .bytes = bytes, .read = [=, source = sources[i], reader = readers[i]]() -> absl::StatusOr<LoraAdapter> {
                   ASSIGN_OR_RETURN(LoraAdapter adapter, base->Read(source, reader.get()));
                   if (pads) adapter.PadTo(largest, shapes);
                   return adapter;
                 }});
  }
  return FillCache(*most, options);
}

// The chosen one first: a text that names none has it. Without requests nothing else is asked for.
absl::Status Adapters::FillCache(int64_t most, EngineOptions& options) {
  const int texts = FLAGS_jsonl ? FLAGS_parallel : 1;
  const int64_t least = FLAGS_jsonl || chosen_ != kNone ? cache_->LeastBytes(texts) : 0;
  if (most < least) {
    return WrongUsage("adapter_memory", FormatByteSize(most),
                      absl::StrCat("at least ", least, " bytes, for the largest of as many texts as are written at once: ", texts));
  }
  if (chosen_ != kNone) RETURN_IF_ERROR(cache_->Lease(chosen_).status());
  for (int i = 0; FLAGS_jsonl && i < cache_->size(); ++i) {
    if (cache_->HasRoomFor(i)) RETURN_IF_ERROR(cache_->Lease(i).status());
  }
  options.workload.adapter_bytes = cache_->bytes();
  options.workload.adapter_padding = padding_bytes();
  options.workload.adapter_room = FLAGS_jsonl ? cache_->MostBytes() - cache_->bytes() : 0;
  return absl::OkStatus();
}

absl::Status Adapters::CheckFlags(const std::vector<AdapterSource>& sources) {
  ASSIGN_OR_RETURN(mode_, LoraModeFromName(FLAGS_lora_mode));
  for (const char* const flag : {"lora_mode", "adapter_memory"}) {
    if (sources.empty() && IsGiven(flag)) return WrongUsage(flag, "without --adapter", "both");
  }
  if (sources.empty() || FLAGS_device.empty()) return absl::OkStatus();
  if (IsGiven("adapter_memory")) {
    return WrongUsage("adapter_memory", "with --device", "one of them: a phone's time does not count adapters that are read");
  }
  if (FLAGS_jsonl && FLAGS_parallel > 1) {
    return WrongUsage("parallel", absl::StrCat(FLAGS_parallel, " with --adapter and --device"),
                      "1: a phone's graph has one adapter at a time");
  }
  return absl::OkStatus();
}

absl::StatusOr<Adapters> Adapters::OfFlags(EngineOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<AdapterSource> sources, ParseAdapterList(FLAGS_adapter));
  Adapters adapters;
  RETURN_IF_ERROR(adapters.Choose(sources));
  RETURN_IF_ERROR(adapters.CheckFlags(sources));
  if (!sources.empty()) RETURN_IF_ERROR(adapters.Read(sources, options));
  return adapters;
}

int Adapters::Named(const std::optional<std::string>& name) const {
  if (!name.has_value()) return chosen_;
  if (name->empty()) return kNone;
  const auto found = std::find(names_.begin(), names_.end(), *name);
  CHECK(found != names_.end()) << *name;
  return static_cast<int>(found - names_.begin());
}

absl::StatusOr<int> Adapters::OfRequest(const JsonValue& body) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> name, AdapterNameOf(body, names_));
  return Named(name);
}

std::vector<int> Adapters::GraphRanks() const {
  std::vector<int> ranks;
  if (set_ == nullptr || mode_ == LoraMode::kGraph) return ranks;
  ranks.resize(kLoraTargets);
  for (int i = 0; i < set_->size(); ++i) {
    const std::vector<int> places = (*set_)[i].Ranks();
    for (size_t target = 0; target < ranks.size(); ++target) {
      int largest = 0;
      for (size_t place = target; place < places.size(); place += kLoraTargets) largest = std::max(largest, places[place]);
      ranks[target] = mode_ == LoraMode::kMask ? ranks[target] + largest : std::max(ranks[target], largest);
    }
  }
  return ranks;
}

absl::StatusOr<AdapterLease> Adapters::Lease(int number) const {
  const bool is_another = leased_.has_value() && *leased_ != number;
  leased_ = number;
  if (is_another && on_another_ != nullptr) on_another_(bytes() / std::max<int64_t>(1, static_cast<int64_t>(names_.size())));
  if (number == kNone) return AdapterLease();
  if (set_ != nullptr) return AdapterLease(set_, &(*set_)[number]);
  return cache_->Lease(number);
}

int64_t Adapters::padding_bytes() const {
  if (set_ != nullptr) return set_->padding_bytes();
  int64_t bytes = 0;
  for (int i = 0; cache_ != nullptr && i < cache_->size(); ++i) bytes += cache_->IsInMemory(i) ? paddings_[static_cast<size_t>(i)] : 0;
  return bytes;
}

std::string Adapters::StatsLine() const {
  if (names_.empty()) return "";
  const std::string padding = padding_bytes() == 0 ? "" : absl::StrCat(", of which ", FormatByteSize(padding_bytes()), " are padding");
  const int in_memory = set_ != nullptr ? set_->size() : cache_->InMemory();
  return absl::StrCat("adapters: ", in_memory, " by ", LoraModeName(mode_), ", ", FormatByteSize(bytes()), padding, "\n");
}

void WriteAdapters(const Workload& workload, JsonWriter& json) {
  if (workload.adapter_bytes == 0) return;
  json.Key("adapters").BeginObject().Key("lora_mode").String(FLAGS_lora_mode).Key("bytes").Int(workload.adapter_bytes);
  json.Key("padding_bytes").Int(workload.adapter_padding).EndObject();
}

std::string Adapters::ReadsLine() const {
  if (cache_ == nullptr || cache_->stats().evictions == 0) return "";
  const AdapterCache::Stats& stats = cache_->stats();
  return absl::StrFormat("adapters: read %d times, %s in %.3f s, and summed (SHA-256) in %.3f s, since --adapter_memory has no room "
                         "for all\n", stats.reads, FormatByteSize(stats.read_bytes), stats.read_seconds, stats.sum_seconds);
}

absl::Status UseAdapter(Engine& engine, const Adapters& adapters, int number, AdaptedSession& session) {
  if (session.session != nullptr && session.number == number) return absl::OkStatus();
  session = AdaptedSession();
  ASSIGN_OR_RETURN(session.adapter, adapters.Lease(number));
  ASSIGN_OR_RETURN(session.session, engine.NewSession({.adapter = session.adapter.get()}));
  session.number = number;
  return absl::OkStatus();
}

}  // namespace tessera
