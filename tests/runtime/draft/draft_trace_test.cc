// What a draft model leaves on the timeline: while it drafts, the target's weights are read on.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tessera/runtime/draft/model_expander.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/timeline_events.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int kTokens = 26, kDrafted = 4;
const TinyModel kModel = {.layers = 12, .writes_letters = true};   // More than a ring has room for.

// A text of the target with drafts of the same model, of which each comes true; on the target's timeline.
void WriteDrafted(Engine& target, const std::shared_ptr<Engine>& draft, Timeline* timeline) {
  auto expander = Must(ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary, .timeline = timeline}));
  auto drafter = std::make_unique<ExpandingDrafter>(std::move(expander), Must(MakeTreePolicy("chain:tokens=4", {})),
                                                    ExpandingDrafter::Options());
  Speculator speculator(std::move(drafter), {.max_rows = kDrafted + 1, .weigh_costs = false});
  const auto session = Must(target.NewSession());
  Must(session->Append(RandomTokens(40, 5)));
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  Must(Generate(*session, greedy, {.max_tokens = kTokens, .ignore_end = true, .speculator = &speculator}));
  EXPECT_EQ(speculator.report().sources[0].account.failures, 0);
}

TEST(DraftTrace, HasEachDraftPassWithItsRowsBesideTheTargetsPasses) {
  Timeline timeline({});
  ThreadPool pool(2);
  const auto target = TinyEngine(kModel, {.compute = {.pool = &pool}, .timeline = &timeline});
  const std::shared_ptr<Engine> draft = TinyEngine(kModel, {.compute = {.pool = &pool, .row_capacity = 16}});
  WriteDrafted(*target, draft, &timeline);
  const std::vector<TimelineEvent> events = timeline.Events(), drafts = OfZone(events, Zone::kDraft), passes = OfZone(events, Zone::kPass);
  EXPECT_EQ(static_cast<int64_t>(drafts.size()), draft->stats().passes);
  int64_t rows = 0;
  for (const TimelineEvent& event : drafts) {
    rows += event.detail;
    EXPECT_EQ(event.resource, Resource::kCpu);
    EXPECT_FALSE(OverlapsAny(event, passes)) << "they take turns";
  }
  EXPECT_EQ(rows, draft->stats().rows);
  EXPECT_EQ(static_cast<int64_t>(passes.size()), target->stats().passes) << "its own alone";
}

// Each pass with a draft ends with one: the tokens that its tree gave, between the pass and the next draft.
TEST(DraftTrace, HasTheKeptTokensOfEachDraft) {
  Timeline timeline({});
  ThreadPool pool(1);
  const auto target = TinyEngine(kModel, {.compute = {.pool = &pool}, .timeline = &timeline});
  const std::shared_ptr<Engine> draft = TinyEngine(kModel, {.compute = {.pool = &pool}});
  WriteDrafted(*target, draft, &timeline);
  const std::vector<TimelineEvent> events = timeline.Events();
  const std::vector<TimelineEvent> commits = OfZone(events, Zone::kCommit), passes = OfZone(events, Zone::kPass);
  int64_t tokens = 0;
  for (const TimelineEvent& event : commits) {
    tokens += event.detail;
    EXPECT_FALSE(OverlapsAny(event, passes) || OverlapsAny(event, OfZone(events, Zone::kDraft)));
  }
  EXPECT_EQ(tokens, kTokens - 1) << "the first token is the prompt's";
  const auto drafted = std::count_if(passes.begin(), passes.end(), [](const TimelineEvent& pass) { return pass.detail <= kDrafted + 1; });
  EXPECT_EQ(static_cast<int64_t>(commits.size()), drafted) << "all but the prompt's";
}

TEST(DraftTrace, NothingIsRecordedWithoutATimeline) {
  Timeline timeline({});
  ThreadPool pool(1);
  const auto target = TinyEngine(kModel, {.compute = {.pool = &pool}, .timeline = &timeline});
  const std::shared_ptr<Engine> draft = TinyEngine(kModel, {.compute = {.pool = &pool}});
  WriteDrafted(*target, draft, nullptr);
  EXPECT_GT(draft->stats().passes, 0);
  EXPECT_TRUE(OfZone(timeline.Events(), Zone::kDraft).empty());
}

// A flash on which a layer takes some ten milliseconds.
std::string SlowFlash(const TemporaryFolder& folder) {
  std::ofstream(folder.Path("slow")) << "name: \"slow\" speed { block_bytes: 65536 depth: 1 megabytes_per_second: 4 source: \"test\" }";
  return folder.Path("slow");
}

TEST(DraftTrace, FlashIsReadWhileADraftIsMade) {
  const PackedModel packed(TinyModelBuilder(kModel));
  const TemporaryFolder folder;
  Timeline timeline({});
  ThreadPool pool(2);
  EngineOptions options = {.model_path = packed.path(), .compute = {.pool = &pool}, .timeline = &timeline};
  options.hooks = Hooks({.own_memory = 0});   // It changes with every test.
  options.workload = {.logit_rows = kDrafted + 1, .least_logit_rows = kDrafted + 1};   // Else the least budget has none for drafts.
  options.streaming = {.pin = PinPolicy::kNone, .flash = SlowFlash(folder)};
  options.streaming.memory_budget = Must(Must(Engine::Open(options))->planner().PlanBudget(int64_t{1} << 40)).least;
  const auto target = Must(Engine::Load(options));
  ASSERT_TRUE(target->model().streams());
  const std::shared_ptr<Engine> draft = TinyEngine(kModel, {.compute = {.pool = &pool}});
  WriteDrafted(*target, draft, &timeline);
  const std::vector<TimelineEvent> drafts = OfZone(timeline.Events(), Zone::kDraft), reads = OfZone(timeline.Events(), Zone::kRead);
  ASSERT_FALSE(drafts.empty());
  const auto beside = std::count_if(drafts.begin(), drafts.end(), [&](const TimelineEvent& event) { return OverlapsAny(event, reads); });
  EXPECT_GT(beside, 0) << "of " << drafts.size();   // Not all: a ring that is full reads no further.
}

}  // namespace
}  // namespace tessera
