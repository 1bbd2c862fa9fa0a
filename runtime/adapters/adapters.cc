#include "tessera/runtime/adapters/adapters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/named_options.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/load_adapter.h"

namespace tessera {
namespace {

constexpr char kUse[] = "use_adapter", kMode[] = "lora_mode", kMemory[] = "adapter_memory", kDevice[] = "device";
constexpr size_t kMostOpenFiles = 256;   // For adapters that memory may not have: others are opened and checked each time.

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

absl::Status Adapters::Choose() {
  for (const AdapterSource& source : options_.adapter) known_.listed.push_back(source.name);
  if (!options_.adapter_folder.empty()) {
    ASSIGN_OR_RETURN(folder_, AdapterFolder::Open(options_.adapter_folder));
    known_.why_not = [folder = folder_.get()](const std::string& name) { return folder->WhyNot(name); };
  }
  if (options_.use_adapter == kNoAdapter) return absl::OkStatus();
  if (!options_.use_adapter.empty()) {
    const auto wrong = [](const std::string& found, const std::string& expected) { return WrongUsage(kUse, found, expected); };
    ASSIGN_OR_RETURN(chosen_parts_, ParseAdapterParts(options_.use_adapter, known_, kNoAdapter, wrong));
  } else if (names().size() == 1) {
    chosen_parts_ = {{.name = names()[0]}};
  }
  chosen_name_ = AdapterPartsName(chosen_parts_);
  if (mode_ != LoraMode::kMask || !IsMix(chosen_parts_)) return absl::OkStatus();
  return NamingOptions({kMode}, WrongUsage(kUse, absl::StrCat(Quoted(chosen_name_), " with lora_mode=mask"),
                                           "input or graph: a mask has the adapters of the list side by side, and no other"));
}

absl::Status Adapters::Read(EngineOptions& engine) {
  RETURN_IF_ERROR(options_.adapter_memory.has_value() ? ReadAsNamed(engine) : ReadAll(engine));
  engine.workload.adapter_bytes = bytes();
  engine.workload.adapter_padding = padding_bytes();
  leased_.reset();
  return absl::OkStatus();
}

absl::Status Adapters::ReadAll(const EngineOptions& engine) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const AdapterBase> base, AdapterBase::Open(engine));
  std::vector<LoraAdapter> adapters;
  for (const AdapterSource& source : options_.adapter) {
    ASSIGN_OR_RETURN(LoraAdapter adapter, base->Read(source.path, source.scale));
    adapters.push_back(std::move(adapter));
  }
  ASSIGN_OR_RETURN(AdapterSet set, AdapterSet::Create(mode_, std::move(adapters), base->config()));
  set_ = std::make_shared<const AdapterSet>(std::move(set));
  RETURN_IF_ERROR(MixAfterSet(base->config()));
  has_budget_ = engine.streaming.memory_budget != 0;
  ASSIGN_OR_RETURN(chosen_, chosen_parts_.empty() ? kNone : NumberOf(chosen_parts_));
  return Lease(chosen_).status();
}

// Each text that is written may have one that is composed of all.
absl::Status Adapters::MixAfterSet(const ModelConfig& config) {
  if (mode_ == LoraMode::kMask) return absl::OkStatus();
  const std::vector<LoraShape> shapes = LoraShapesOf(config);
  std::vector<int> padded;
  for (int i = 0; mode_ == LoraMode::kInput && i < set_->size(); ++i) RaiseRanks((*set_)[i].Ranks(), padded);
  const int64_t most = TextsAtOnce() * MostMixedBytes(*set_, shapes, padded);
  cache_ = std::make_unique<AdapterCache>(AdapterCache::Options{.most_bytes = most});
  const auto lease = [set = set_](int number) -> absl::StatusOr<AdapterLease> { return AdapterLease(set, &(*set)[number]); };
  mixes_ = std::make_unique<AdapterMixes>(AdapterMixes::Options{
      .cache = cache_.get(), .lease_part = lease, .parts_are_in_cache = false, .shapes = shapes, .padded_ranks = padded});
  return absl::OkStatus();
}

// Ranks are those of all files, whichever of them memory holds.
absl::Status Adapters::ReadAsNamed(EngineOptions& engine) {
  if (mode_ == LoraMode::kMask) {
    return NamingOptions({kMode}, WrongUsage(kMemory, "with lora_mode=mask", "input or graph: a mask has all in memory"));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const AdapterBase> base, AdapterBase::Open(engine));
  const std::vector<LoraShape> shapes = LoraShapesOf(base->config());
  std::vector<LoraPlan> plans;
  std::vector<std::shared_ptr<const AdapterReader>> readers;   // By source: what was checked need not be checked again.
  std::vector<int> largest;
  for (const AdapterSource& source : options_.adapter) {
    ASSIGN_OR_RETURN(std::shared_ptr<const AdapterReader> reader, base->OpenFile(source.path));
    plans.push_back(PlanLoraAdapter(reader->shapes(), base->config()));
    RaiseRanks(plans.back().ranks, largest);
    readers.push_back(readers.size() < kMostOpenFiles ? std::move(reader) : nullptr);
  }
  cache_ = std::make_unique<AdapterCache>(AdapterCache::Options{.most_bytes = *options_.adapter_memory});
  const bool pads = mode_ == LoraMode::kInput;
  for (size_t i = 0; i < plans.size(); ++i) {
    const int64_t own = plans[i].BytesPaddedTo(plans[i].ranks, shapes), bytes = pads ? plans[i].BytesPaddedTo(largest, shapes) : own;
    paddings_.push_back(bytes - own);
    const auto read = [=, source = options_.adapter[i], reader = readers[i]]() -> absl::StatusOr<LoraAdapter> {
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
  return FillCache(engine);
}

// The chosen one first: a text that names none has it. Without requests nothing else is asked for.
absl::Status Adapters::FillCache(EngineOptions& engine) {
  const bool has_requests = options_.requests;
  const int64_t most = *options_.adapter_memory;
  ASSIGN_OR_RETURN(chosen_, chosen_parts_.empty() ? kNone : NumberOf(chosen_parts_));
  const int texts = TextsAtOnce();
  const int64_t least = has_requests || chosen_ != kNone ? cache_->LeastBytes(texts) : 0;
  if (most < least) {
    return WrongUsage(kMemory, FormatByteSize(most),
                      absl::StrCat("at least ", least, " bytes, for the largest of as many texts as are written at once: ", texts));
  }
  const absl::Status chosen = Lease(chosen_).status();
  if (absl::IsResourceExhausted(chosen) || absl::IsFailedPrecondition(chosen)) return ForField(kMemory, chosen);
  RETURN_IF_ERROR(chosen);
  for (int i = 0; has_requests && i < static_cast<int>(names().size()); ++i) {
    if (cache_->HasRoomFor(i)) RETURN_IF_ERROR(cache_->Lease(i).status());
  }
  engine.workload.adapter_room = has_requests ? most - cache_->bytes() : 0;
  return absl::OkStatus();
}

absl::StatusOr<Adapters> Adapters::Create(AdapterOptions options, EngineOptions& engine) {
  RETURN_IF_ERROR(CheckAdapterOptions(options));
  Adapters adapters;
  adapters.mode_ = options.lora_mode.value_or(LoraMode::kGraph);
  adapters.options_ = std::move(options);
  RETURN_IF_ERROR(adapters.Choose());
  if (!adapters.names().empty() || adapters.folder_ != nullptr) RETURN_IF_ERROR(adapters.Read(engine));
  return adapters;
}

absl::Status Adapters::CheckMayMix(const std::string& name) const {
  const auto refused = [&](absl::string_view with, const std::vector<std::string>& named, absl::string_view expected) {
    return NamingOptions(named, WrongUsage("adapter", absl::StrCat(Quoted(name), " with ", with), expected));
  };
  if (mode_ == LoraMode::kMask) {
    return refused("lora_mode=mask", {kMode},
                   "one adapter at its own scale: a mask has those of the list side by side, and no other");
  }
  if (options_.device) {
    return refused(kDevice, {kDevice}, "one adapter at its own scale: a phone's time does not count what is composed");
  }
  if (!has_budget_) return absl::OkStatus();
  return refused("memory_budget", {"memory_budget", kMemory}, "adapter_memory=SIZE, too: room for what is composed");
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

std::optional<AdapterCache::Stats> Adapters::reads_again() const {
  if (set_ != nullptr || cache_ == nullptr || cache_->stats().evictions == 0) return std::nullopt;
  return cache_->stats();
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
