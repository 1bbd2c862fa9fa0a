#include "tessera/model/kv_cache.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

using SequenceId = KvCache::SequenceId;
using Slots = std::vector<int32_t>;

std::unique_ptr<KvCache> SmallCache(int slots, uint64_t scatter_seed = 0) {
  auto cache = KvCache::Create({.layers = 1, .heads = 1, .head_size = 4, .slots = slots, .scatter_seed = scatter_seed});
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *std::move(cache);
}


SequenceId Forked(KvCache& cache, SequenceId sequence, int length) {
  const absl::StatusOr<SequenceId> fork = cache.Fork(sequence, length);
  EXPECT_TRUE(fork.ok()) << fork.status();
  return *fork;
}

// The path in the first group.
KvCache::Path PathOf(KvCache& cache, SequenceId sequence, int length) { return cache.PathsOf(sequence, length)[0]; }

Slots SlotsOf(const KvCache::Path& path) {
  Slots slots;
  for (const SlotRange& range : path) {
    for (int i = 0; i < range.count; ++i) slots.push_back(range.begin + i);
  }
  return slots;
}

// The slots of the positions that this adds.
Slots Extended(KvCache& cache, SequenceId sequence, int count) {
  const absl::Status status = cache.Extend(sequence, count);
  EXPECT_TRUE(status.ok()) << status;
  const Slots slots = SlotsOf(PathOf(cache, sequence, cache.Length(sequence)));
  return {slots.end() - count, slots.end()};
}

// As many ranges as need be: each is followed by a slot that is not its neighbour.
void ExpectMerged(const KvCache::Path& path) {
  for (size_t i = 1; i < path.size(); ++i) EXPECT_NE(path[i - 1].begin + path[i - 1].count, path[i].begin) << "range " << i;
}

TEST(KvCache, HeaderExample) {
  const auto run = [](int prompt_length, int i, KvCache::Paths& row, KvCache::Paths& accepted) -> absl::Status {
    ASSIGN_OR_RETURN(auto cache, KvCache::Create({.layers = 30, .heads = 3, .head_size = 64, .slots = 4096}));
    const KvCache::SequenceId text = cache->NewSequence();
    RETURN_IF_ERROR(cache->MakeRoom(prompt_length));
    RETURN_IF_ERROR(cache->Extend(text, prompt_length));
    const KvCache::Paths paths = cache->PathsOf(text, i + 1);
    row = paths;
    const KvView view = cache->View(/*first_layer=*/12);
    if (view.slots() != 4096 || view.head_size() != 64) return absl::InternalError("another view");
    ASSIGN_OR_RETURN(const KvCache::SequenceId draft, cache->Fork(text, cache->Length(text)));
    RETURN_IF_ERROR(cache->Extend(draft, 1));
    cache->Release(text);
    accepted = cache->PathsOf(draft, cache->Length(draft));
    return absl::OkStatus();
  };
  KvCache::Paths row, accepted;
  const absl::Status status = run(10, 2, row, accepted);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(row, (KvCache::Paths{{{0, 3}}}));
  EXPECT_EQ(accepted, (KvCache::Paths{{{0, 11}}}));
}

TEST(KvCache, AGrowingSequenceStaysInOneRange) {
  auto cache = SmallCache(256);
  const SequenceId text = cache->NewSequence();
  for (int i = 0; i < 200; ++i) Extended(*cache, text, 1);
  EXPECT_EQ(PathOf(*cache, text, 200), (KvCache::Path{{0, 200}}));
}

TEST(KvCache, SequencesThatGrowSideBySideGetRunsThatLieAsTheirPositionsDo) {
  auto cache = SmallCache(2048);
  const SequenceId prompt = cache->NewSequence();
  Extended(*cache, prompt, 37);
  SequenceId sequences[4];
  for (SequenceId& sequence : sequences) sequence = Forked(*cache, prompt, 37);
  for (int i = 0; i < 200; ++i) {
    for (const SequenceId sequence : sequences) Extended(*cache, sequence, 1);
  }
  for (const SequenceId sequence : sequences) {
    const KvCache::Path path = PathOf(*cache, sequence, 237);
    EXPECT_LE(path.size(), 237u / 16 + 2);
    const Slots slots = SlotsOf(path);
    for (int position = 0; position < 237; ++position) ASSERT_EQ(slots[position] % 16, position % 16);
  }
}

TEST(KvCache, ForksShareTheirPrefixAndNothingElse) {
  auto cache = SmallCache(64);
  const SequenceId text = cache->NewSequence();
  const Slots shared = Extended(*cache, text, 10);
  const SequenceId fork = Forked(*cache, text, 7);
  EXPECT_EQ(cache->free_slots(), 54);
  EXPECT_EQ(cache->Length(fork), 7);
  const Slots own = Extended(*cache, fork, 2);
  EXPECT_EQ(SlotsOf(PathOf(*cache, fork, 7)), Slots(shared.begin(), shared.begin() + 7));
  EXPECT_EQ(SlotsOf(PathOf(*cache, text, 10)), shared);
  for (const int32_t slot : own) EXPECT_EQ(std::count(shared.begin(), shared.end(), slot), 0) << slot;
}

TEST(KvCache, TruncatingFreesOnlyUnsharedSlots) {
  auto cache = SmallCache(64);
  const SequenceId text = cache->NewSequence();
  Extended(*cache, text, 20);
  const SequenceId fork = Forked(*cache, text, 12);
  cache->Truncate(text, 5);
  EXPECT_EQ(cache->free_slots(), 64 - 12);
  EXPECT_EQ(cache->Length(text), 5);
  EXPECT_EQ(PathOf(*cache, fork, 12), (KvCache::Path{{0, 12}}));
  cache->Release(fork);
  EXPECT_EQ(cache->free_slots(), 64 - 5);
  cache->Truncate(text, 0);
  EXPECT_EQ(cache->free_slots(), 64);
  EXPECT_EQ(Extended(*cache, text, 1), (Slots{0}));
}

TEST(KvCache, NeighboursFreedInEitherOrderBecomeOneRun) {
  for (const bool first_one_first : {true, false}) {
    auto cache = SmallCache(64);
    SequenceId sequences[3];
    for (SequenceId& sequence : sequences) sequence = cache->NewSequence();
    for (const auto& [i, length] : {std::pair{0, 16}, {1, 16}, {2, 8}}) Extended(*cache, sequences[i], length);  // 24 stay free.
    cache->Release(sequences[first_one_first ? 0 : 1]);
    cache->Release(sequences[first_one_first ? 1 : 0]);
    const SequenceId next = cache->NewSequence();
    Extended(*cache, next, 30);
    EXPECT_EQ(PathOf(*cache, next, 30), (KvCache::Path{{0, 30}}));
  }
}

TEST(KvCache, ReleasingTheTextKeepsItsAcceptedDraft) {
  auto cache = SmallCache(256);
  SequenceId text = cache->NewSequence();
  Slots expected = Extended(*cache, text, 9);
  for (int step = 0; step < 100; ++step) {  // A draft tree: three children of the text, the second with one of its own.
    SequenceId children[3];
    Slots added[3];
    for (int i = 0; i < 3; ++i) {
      children[i] = Forked(*cache, text, cache->Length(text));
      added[i] = Extended(*cache, children[i], 1);
    }
    const SequenceId accepted = Forked(*cache, children[1], cache->Length(children[1]));
    const Slots last = Extended(*cache, accepted, 1);
    expected.insert(expected.end(), {added[1][0], last[0]});
    for (const SequenceId rejected : {text, children[0], children[1], children[2]}) cache->Release(rejected);
    text = accepted;
    ASSERT_EQ(SlotsOf(PathOf(*cache, text, cache->Length(text))), expected);
    ASSERT_EQ(cache->free_slots(), 256 - cache->Length(text));
    ASSERT_EQ(cache->nodes(), 1);  // However many drafts led here.
  }
}

TEST(KvCache, ExhaustionNamesTheSlotsAndChangesNothing) {
  auto cache = SmallCache(32);
  const SequenceId text = cache->NewSequence();
  Extended(*cache, text, 30);
  const SequenceId fork = Forked(*cache, text, 4);
  for (const SequenceId sequence : {text, fork}) {
    const absl::Status status = cache->Extend(sequence, 3);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(status.message(), "KV cache: wanted 3 slots, found 2 free of 32");
  }
  EXPECT_EQ(cache->MakeRoom(3).message(), "KV cache: wanted 3 slots, found 2 free of 32");
  EXPECT_EQ(cache->RoomFor(3), 2);
  EXPECT_EQ(cache->RoomFor(1), 1);
  EXPECT_EQ(cache->Length(text), 30);
  EXPECT_EQ(cache->Length(fork), 4);
  EXPECT_EQ(Extended(*cache, fork, 2), (Slots{30, 31}));
}

TEST(KvCache, ForkingBeyondTheEndIsAnError) {
  auto cache = SmallCache(32);
  const SequenceId text = cache->NewSequence();
  Extended(*cache, text, 5);
  for (const int length : {-1, 6}) {
    const absl::Status status = cache->Fork(text, length).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "KV cache fork: found length " + std::to_string(length) + ", expected 0 to 5");
  }
}

TEST(KvCache, ScatterSeedScattersSlotsReproducibly) {
  const auto draw = [](uint64_t seed) {
    auto cache = SmallCache(256, seed);
    const SequenceId text = cache->NewSequence();
    const Slots slots = Extended(*cache, text, 256);
    EXPECT_GT(PathOf(*cache, text, 256).size(), 200u);
    return slots;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(KvCache, EveryNumberOfEveryViewHasItsOwnZeroedPlace) {
  const auto cache = KvCache::Create({.layers = 3, .heads = 2, .head_size = 5, .slots = 17, .format = KvFormat::kFloat});
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_EQ((*cache)->slots(), 32);
  EXPECT_EQ((*cache)->bytes(), 3 * 2 * 32 * (5 + 16) * 4);
  float next = 0;
  const auto visit = [&](int first_layer, int layer, auto&& place) {
    const KvView view = (*cache)->View(first_layer);
    for (int head = 0; head < 2; ++head) {
      for (int slot = 0; slot < 32; ++slot) {
        for (int d = 0; d < 5; ++d) {
          place(view.Keys<float>(layer, head)[view.KeyIndex(slot, d)]);
          place(view.Values<float>(layer, head)[view.ValueIndex(slot, d)]);
        }
      }
    }
  };
  for (int layer = 0; layer < 3; ++layer) {
    visit(0, layer, [&](float& place) {
      ASSERT_EQ(place, 0);  // Fails where two numbers share a place.
      place = ++next;
    });
  }
  next = 0;
  for (int layer = 0; layer < 3; ++layer) visit(layer, 0, [&](float& place) { ASSERT_EQ(place, ++next); });
}

TEST(KvCache, ImpossibleOptionsAreNamed) {
  const KvCache::Options good = {.layers = 1, .heads = 1, .head_size = 1, .slots = 1};
  for (const auto& [name, field] : {std::pair{"layers", &KvCache::Options::layers}, {"heads", &KvCache::Options::heads},
                                    {"head_size", &KvCache::Options::head_size}, {"slots", &KvCache::Options::slots}}) {
    KvCache::Options bad = good;
    bad.*field = 0;
    const absl::Status status = KvCache::Create(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), std::string("KV cache ") + name + ": found 0, expected 1 or more");
  }
  KvCache::Options many = good;
  many.slots = 2147483647;
  EXPECT_EQ(KvCache::Create(many).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KvCache, SizesBeyondTheMachineAreStatuses) {
  const auto no_memory = KvCache::Create({.layers = 1000, .heads = 1000, .head_size = 4096, .slots = 1 << 20});
  EXPECT_EQ(no_memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(no_memory.status().message().find("8589934592000000 bytes"), absl::string_view::npos) << no_memory.status();
  const auto no_number = KvCache::Create({.layers = 1 << 30, .heads = 1 << 30, .head_size = 1 << 30, .slots = 1 << 30});
  EXPECT_EQ(no_number.status().code(), absl::StatusCode::kOutOfRange);
}

TEST(KvCache, UnknownSequencesAreABugOfOurs) {
  auto cache = SmallCache(16);
  const SequenceId text = cache->NewSequence();
  cache->Release(text);
  EXPECT_DEATH(cache->Release(text), "no sequence 0");
  EXPECT_DEATH(cache->Length(-1), "no sequence -1");
}

// The same sequences as plain lists of slots, each counted once for every sequence that holds it.
class PlainSequences {
 public:
  explicit PlainSequences(int slots) : holders_(slots) {}

  void Begin(SequenceId id, const Slots& beginning) {
    EXPECT_TRUE(slots_.emplace(id, Slots()).second) << "id " << id << " was in use";
    for (const int32_t slot : beginning) Append(id, slot, /*fresh=*/false);
  }
  void Append(SequenceId id, int32_t slot, bool fresh) {
    ASSERT_TRUE(slot >= 0 && slot < static_cast<int>(holders_.size())) << slot;
    ASSERT_TRUE(!fresh || holders_[slot] == 0) << "slot " << slot << " was in use";
    ++holders_[slot];
    slots_[id].push_back(slot);
  }
  void Truncate(SequenceId id, int length) {
    for (Slots& slots = slots_[id]; static_cast<int>(slots.size()) > length; slots.pop_back()) --holders_[slots.back()];
  }
  void Release(SequenceId id) {
    Truncate(id, 0);
    slots_.erase(id);
  }
  int free_slots() const { return static_cast<int>(std::count(holders_.begin(), holders_.end(), 0)); }
  const std::map<SequenceId, Slots>& all() const { return slots_; }

 private:
  std::map<SequenceId, Slots> slots_;
  std::vector<int> holders_;
};

// Does random things to a cache and to plain lists, and compares what there is to see after each.
class RandomCalls {
 public:
  RandomCalls(int slots, uint64_t seed, uint64_t scatter_seed)
      : cache_(SmallCache(slots, scatter_seed)), plain_(slots), random_(seed) {}

  void Step() {
    const int64_t kind = plain_.all().empty() ? 0 : random_.Below(100);
    if (kind < 3) plain_.Begin(cache_->NewSequence(), {});
    else if (kind < 30) Fork();
    else if (kind < 65) Extend();
    else if (kind < 75) Truncate();
    else if (kind < 100 && (kind < 85 || plain_.all().size() > 12)) Release();
    Compare();
  }
  void ReleaseAll() {
    while (!plain_.all().empty()) Release();
    Compare();
    EXPECT_EQ(cache_->free_slots(), cache_->slots());
    EXPECT_EQ(cache_->nodes(), 0);
  }
  int exhausted() const { return exhausted_; }

 private:
  SequenceId Any() { return std::next(plain_.all().begin(), random_.Below(plain_.all().size()))->first; }
  int AnyLength(SequenceId id) {  // Half of the time its end, where forks of drafts happen.
    const int length = static_cast<int>(plain_.all().at(id).size());
    return random_.Below(2) == 0 ? length : static_cast<int>(random_.Below(length + 1));
  }
  void Fork() {
    const SequenceId from = Any();
    const int length = AnyLength(from);
    Slots beginning = plain_.all().at(from);
    beginning.resize(length);
    plain_.Begin(Forked(*cache_, from, length), beginning);
  }
  void Extend() {
    const SequenceId id = Any();
    const int count = static_cast<int>(random_.Below(3) == 0 ? random_.Below(40) : random_.Below(3));
    const bool fits = count <= plain_.free_slots();
    ASSERT_EQ(cache_->RoomFor(count) == count, fits);
    ASSERT_EQ(cache_->MakeRoom(count).ok(), fits);
    ASSERT_EQ(cache_->Extend(id, count).ok(), fits);
    exhausted_ += !fits;
    if (!fits) return;
    const Slots slots = SlotsOf(PathOf(*cache_, id, cache_->Length(id)));
    for (auto slot = slots.end() - count; slot != slots.end(); ++slot) plain_.Append(id, *slot, /*fresh=*/true);
  }
  void Truncate() {
    const SequenceId id = Any();
    const int length = AnyLength(id);
    cache_->Truncate(id, length);
    plain_.Truncate(id, length);
  }
  void Release() {
    const SequenceId id = Any();
    cache_->Release(id);
    plain_.Release(id);
  }
  void Compare() {
    ASSERT_EQ(cache_->free_slots(), plain_.free_slots());
    ASSERT_LE(cache_->nodes(), std::max<int>(0, 2 * plain_.all().size() - 1));
    for (const auto& [id, slots] : plain_.all()) {
      ASSERT_EQ(cache_->Length(id), static_cast<int>(slots.size()));
      const int length = AnyLength(id);
      const KvCache::Path path = PathOf(*cache_, id, length);
      ASSERT_EQ(SlotsOf(path), Slots(slots.begin(), slots.begin() + length));
      ExpectMerged(path);
    }
  }

  std::unique_ptr<KvCache> cache_;
  PlainSequences plain_;
  SeededRandom random_;
  int exhausted_ = 0;
};

TEST(KvCache, AgreesWithPlainListsOfSlotsWhateverIsCalled) {
  for (const uint64_t scatter_seed : {0, 7}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      RandomCalls calls(/*slots=*/256, seed, scatter_seed);
      for (int i = 0; i < 2000; ++i) {
        calls.Step();
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", scatter seed " << scatter_seed << ", call " << i;
      }
      EXPECT_GT(calls.exhausted(), 10);
      calls.ReleaseAll();
    }
  }
}

}  // namespace
}  // namespace tessera
