#include "tessera/runtime/adapters/adapters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/adapter_file.h"
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

// Whether it is none that is there as it is.
bool IsMix(const AdapterParts& parts) { return parts.size() > 1 || (parts.size() == 1 && parts[0].scale != 1); }

// Most bytes of an adapter that is composed of all of these, each once.
int64_t MostMixedBytes(const AdapterSet& set, const std::vector<LoraShape>& shapes, const std::vector<int>& padded) {
  std::vector<int> ranks = padded;
  for (int i = 0; padded.empty() && i < set.size(); ++i) {
    const std::vector<int> own = set[i].Ranks();
    ranks.resize(own.size());
    for (size_t place = 0; place < own.size(); ++place) ranks[place] += own[place];
  }
  const LoraPlan plan = {.ranks = ranks, .number_bytes = std::vector<int>(ranks.size(), sizeof(float))};
  return plan.BytesPaddedTo(ranks, shapes);
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
  for (const AdapterSource& source : sources) known_.listed.push_back(source.name);
  if (!FLAGS_adapter_folder.empty()) {
    ASSIGN_OR_RETURN(folder_, AdapterFolder::Open(FLAGS_adapter_folder));
    known_.why_not = [folder = folder_.get()](const std::string& name) { return folder->WhyNot(name); };
  }
  if (IsGiven("use_adapter")) {
    if (names().empty() && folder_ == nullptr) return WrongUsage("use_adapter", "without --adapter", "both");
    if (FLAGS_use_adapter == kNoAdapter) return absl::OkStatus();
    const auto wrong = [](const std::string& found, const std::string& expected) { return WrongUsage("use_adapter", found, expected); };
    ASSIGN_OR_RETURN(chosen_parts_, ParseAdapterParts(FLAGS_use_adapter, known_, kNoAdapter, wrong));
  } else if (folder_ != nullptr && !FLAGS_jsonl) {
    return WrongUsage("adapter_folder", "without --jsonl", "it, or --use_adapter=NAME");
  } else if (names().size() > 1 && !FLAGS_jsonl) {
    return WrongUsage("adapter", absl::StrCat(names().size(), " of them without --jsonl"), "one, or --use_adapter=NAME");
  } else if (names().size() == 1) {
    chosen_parts_ = {{.name = names()[0]}};
  }
  chosen_name_ = AdapterPartsName(chosen_parts_);
  return absl::OkStatus();
}

absl::Status Adapters::Read(const std::vector<AdapterSource>& sources, EngineOptions& options) {
  RETURN_IF_ERROR(FLAGS_adapter_memory.empty() ? ReadAll(sources, options) : ReadAsNamed(sources, options));
  options.workload.adapter_bytes = bytes();
  options.workload.adapter_padding = padding_bytes();
  leased_.reset();
  return absl::OkStatus();
}

absl::Status Adapters::ReadAll(const std::vector<AdapterSource>& sources, EngineOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const AdapterBase> base, AdapterBase::Open(options));
  std::vector<LoraAdapter> adapters;
  for (const AdapterSource& source : sources) {
    ASSIGN_OR_RETURN(LoraAdapter adapter, base->Read(source.path, source.scale));
    adapters.push_back(std::move(adapter));
  }
  ASSIGN_OR_RETURN(AdapterSet set, AdapterSet::Create(mode_, std::move(adapters), base->config()));
  set_ = std::make_shared<const AdapterSet>(std::move(set));
  RETURN_IF_ERROR(MixAfterSet(base->config()));
  has_budget_ = options.streaming.memory_budget != 0;
  ASSIGN_OR_RETURN(chosen_, chosen_parts_.empty() ? kNone : NumberOf(chosen_parts_));
  return Lease(chosen_).status();
}

// Each text that is written may have one that is composed of all.
absl::Status Adapters::MixAfterSet(const ModelConfig& config) {
  if (mode_ == LoraMode::kMask) return absl::OkStatus();
  const std::vector<LoraShape> shapes = LoraShapesOf(config);
  std::vector<int> padded;
  for (int i = 0; mode_ == LoraMode::kInput && i < set_->size(); ++i) RaiseRanks((*set_)[i].Ranks(), padded);
  const int64_t texts = FLAGS_jsonl ? FLAGS_parallel : 1;
  cache_ = std::make_unique<AdapterCache>(AdapterCache::Options{.most_bytes = texts * MostMixedBytes(*set_, shapes, padded)});
  const auto lease = [set = set_](int number) -> absl::StatusOr<AdapterLease> { return AdapterLease(set, &(*set)[number]); };
  mixes_ = std::make_unique<AdapterMixes>(AdapterMixes::Options{
      .cache = cache_.get(), .lease_part = lease, .parts_are_in_cache = false, .shapes = shapes, .padded_ranks = padded});
  return absl::OkStatus();
}

// Ranks are those of all files, whichever of them memory holds.
absl::Status Adapters::ReadAsNamed(const std::vector<AdapterSource>& sources, EngineOptions& options) {
  const absl::StatusOr<int64_t> most = ParseByteSize(FLAGS_adapter_memory);
  if (!most.ok()) return ForField("adapter_memory", most.status());
  if (mode_ == LoraMode::kMask) return WrongUsage("adapter_memory", "with --lora_mode=mask", "input or graph: a mask has all in memory");
  ASSIGN_OR_RETURN(const std::shared_ptr<const AdapterBase> base, AdapterBase::Open(options));
  const std::vector<LoraShape> shapes = LoraShapesOf(base->config());
  std::vector<LoraPlan> plans;
  std::vector<std::shared_ptr<const AdapterReader>> readers;   // By source: what was checked need not be checked again.
  std::vector<int> largest;
  for (const AdapterSource& source : sources) {
    ASSIGN_OR_RETURN(std::shared_ptr<const AdapterReader> reader, base->OpenFile(source.path));
    plans.push_back(PlanLoraAdapter(reader->shapes(), base->config()));
    RaiseRanks(plans.back().ranks, largest);
    readers.push_back(readers.size() < kMostOpenFiles ? std::move(reader) : nullptr);
  }
  cache_ = std::make_unique<AdapterCache>(AdapterCache::Options{.most_bytes = *most});
  const bool pads = mode_ == LoraMode::kInput;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t own = plans[i].BytesPaddedTo(plans[i].ranks, shapes), bytes = pads ? plans[i].BytesPaddedTo(largest, shapes) : own;
    paddings_.push_back(bytes - own);
    const auto read = [=, source = sources[i], reader = readers[i]]() -> absl::StatusOr<LoraAdapter> {
      ASSIGN_OR_RETURN(LoraAdapter adapter, base->Read(source.path, source.scale, reader.get()));
      if (pads) adapter.PadTo(largest, shapes);
      return adapter;
    };
    cache_->Add({.name = names()[i], .bytes = bytes, .read = read});
  }
  if (folder_ != nullptr) folder_->ReadInto(cache_.get(), base);
  mixes_ = std::make_unique<AdapterMixes>(AdapterMixes::Options{
      .cache = cache_.get(), .lease_part = [cache = cache_.get()](int number) { return cache->Lease(number); }, .shapes = shapes,
      .padded_ranks = pads ? largest : std::vector<int>()});
  return FillCache(*most, options);
}

// The chosen one first: a text that names none has it. Without requests nothing else is asked for.
absl::Status Adapters::FillCache(int64_t most, EngineOptions& options) {
  ASSIGN_OR_RETURN(chosen_, chosen_parts_.empty() ? kNone : NumberOf(chosen_parts_));
  const int texts = FLAGS_jsonl ? FLAGS_parallel : 1;
  const int64_t least = FLAGS_jsonl || chosen_ != kNone ? cache_->LeastBytes(texts) : 0;
  if (most < least) {
    return WrongUsage("adapter_memory", FormatByteSize(most),
                      absl::StrCat("at least ", least, " bytes, for the largest of as many texts as are written at once: ", texts));
  }
  const absl::Status chosen = Lease(chosen_).status();
  if (absl::IsResourceExhausted(chosen) || absl::IsFailedPrecondition(chosen)) return ForField("adapter_memory", chosen);
  RETURN_IF_ERROR(chosen);
  for (int i = 0; FLAGS_jsonl && i < static_cast<int>(names().size()); ++i) {
    if (cache_->HasRoomFor(i)) RETURN_IF_ERROR(cache_->Lease(i).status());
  }
  options.workload.adapter_room = FLAGS_jsonl ? most - cache_->bytes() : 0;
  return absl::OkStatus();
}

absl::Status Adapters::CheckFlags(const std::vector<AdapterSource>& sources) {
  ASSIGN_OR_RETURN(mode_, LoraModeFromName(FLAGS_lora_mode));
  const bool has_none = sources.empty() && folder_ == nullptr;
  for (const char* const flag : {"lora_mode", "adapter_memory"}) {
    if (has_none && IsGiven(flag)) return WrongUsage(flag, "without --adapter", "both");
  }
  if (folder_ != nullptr && FLAGS_adapter_memory.empty()) {
    return WrongUsage("adapter_folder", "without --adapter_memory", "both: requests name as many as they like");
  }
  if (folder_ != nullptr && mode_ != LoraMode::kGraph) {
    return WrongUsage("adapter_folder", absl::StrCat("with --lora_mode=", LoraModeName(mode_)),
                      "graph: ranks that requests bring are not known before");
  }
  if (mode_ == LoraMode::kMask && IsMix(chosen_parts_)) {
    return WrongUsage("use_adapter", absl::StrCat(Quoted(chosen_name_), " with --lora_mode=mask"),
                      "input or graph: a mask has the adapters of the list side by side, and no other");
  }
  if (has_none || FLAGS_device.empty()) return absl::OkStatus();
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
  if (!sources.empty() || adapters.folder_ != nullptr) RETURN_IF_ERROR(adapters.Read(sources, options));
  return adapters;
}

absl::Status Adapters::CheckMayMix(const std::string& name) const {
  const auto refused = [&](absl::string_view with, absl::string_view expected) {
    return WrongUsage("adapter", absl::StrCat(Quoted(name), " with ", with), expected);
  };
  if (mode_ == LoraMode::kMask) {
    return refused("--lora_mode=mask", "one adapter at its own scale: a mask has those of the list side by side, and no other");
  }
  if (!FLAGS_device.empty()) {
    return refused("--device", "one adapter at its own scale: a phone's time does not count what is composed");
  }
  if (has_budget_) return refused("--memory_budget", "--adapter_memory=SIZE, too: room for what is composed");
  return absl::OkStatus();
}

// Adapters are composed when they are leased.
absl::StatusOr<int> Adapters::NumberOf(const AdapterParts& parts) const {
  AdapterMix mix;
  for (const AdapterPart& part : parts) {
    const auto listed = std::find(names().begin(), names().end(), part.name);
    int number = static_cast<int>(listed - names().begin());
    if (listed == names().end()) {
      CHECK(folder_ != nullptr) << part.name;
      ASSIGN_OR_RETURN(number, folder_->NumberOf(part.name));
    }
    mix.push_back({.number = number, .scale = part.scale});
  }
  if (!IsMix(parts)) return mix[0].number;
  return InSet() + mixes_->NumberOf(mix, AdapterPartsName(parts));
}

absl::StatusOr<int> Adapters::Named(const std::optional<AdapterParts>& parts) const {
  const AdapterParts& asked = parts.has_value() ? *parts : chosen_parts_;
  if (asked.empty()) return kNone;
  if (IsMix(asked) && asked != chosen_parts_) RETURN_IF_ERROR(CheckMayMix(AdapterPartsName(asked)));
  return NumberOf(asked);   // Anew each time: other compositions, or another file in the folder, may have come since.
}

absl::StatusOr<int> Adapters::OfRequest(const JsonValue& body) const {
  ASSIGN_OR_RETURN(const std::optional<AdapterParts> parts, AdapterPartsOf(body, known_));
  return Named(parts);
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
  if (is_another && on_another_ != nullptr) on_another_(bytes() / std::max<int64_t>(1, static_cast<int64_t>(names().size())));
  if (number == kNone) return AdapterLease();
  if (number < InSet()) return AdapterLease(set_, &(*set_)[number]);
  const int in_cache = number - InSet();
  return mixes_ != nullptr && mixes_->Has(in_cache) ? mixes_->Lease(in_cache) : cache_->Lease(in_cache);
}

int64_t Adapters::padding_bytes() const {
  int64_t bytes = set_ != nullptr ? set_->padding_bytes() : 0;
  for (size_t i = 0; i < paddings_.size(); ++i) bytes += cache_->IsInMemory(static_cast<int>(i)) ? paddings_[i] : 0;
  return bytes;
}

std::string Adapters::StatsLine() const {
  if (set_ == nullptr && cache_ == nullptr) return "";
  const std::string padding = padding_bytes() == 0 ? "" : absl::StrCat(", of which ", FormatByteSize(padding_bytes()), " are padding");
  const int in_memory = InSet() + (cache_ != nullptr ? cache_->InMemory() : 0);
  return absl::StrCat("adapters: ", in_memory, " by ", LoraModeName(mode_), ", ", FormatByteSize(bytes()), padding, "\n");
}

void WriteAdapters(const Workload& workload, JsonWriter& json) {
  if (workload.adapter_bytes == 0) return;
  json.Key("adapters").BeginObject().Key("lora_mode").String(FLAGS_lora_mode).Key("bytes").Int(workload.adapter_bytes);
  json.Key("padding_bytes").Int(workload.adapter_padding).EndObject();
}

std::string Adapters::ReadsLine() const {
  if (set_ != nullptr || cache_ == nullptr || cache_->stats().evictions == 0) return "";
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
