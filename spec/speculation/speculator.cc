#include "tessera/spec/speculation/speculator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "glog/logging.h"
#include "tessera/base/elapsed.h"
#include "tessera/spec/policies/forecast_rows.h"

namespace tessera {
namespace {

// The most time of logits that drafters only learn from, as a share of a step's expected time. Learning from rejected rows serves many
// steps.
constexpr double kLearningShare = 0.05;
constexpr double kNewPlainWeight = 0.05;
// After kIdle proposals in a row without a node worth a row, drafters rest: each time for twice as many steps, at most kLongestRest. So a
// sequence that begins to repeat itself does not wait long.
constexpr int kIdle = 16, kLongestRest = 8;
// Name, among the drafters, of the cost of proposals in addition to the drafters' own time.
constexpr char kMerging[] = "merging";

std::vector<std::unique_ptr<Drafter>> One(std::unique_ptr<Drafter> drafter) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(std::move(drafter));
  return drafters;
}

CostProfile::Shape Sum(const CostProfile::Shape& a, const CostProfile::Shape& b) {
  return {.rows = a.rows + b.rows, .leaves = a.leaves + b.leaves, .texts = a.texts + b.texts};
}

}  // namespace

Speculator::Speculator(std::unique_ptr<Drafter> drafter, const Options& options) : Speculator(One(std::move(drafter)), options) {}

Speculator::Speculator(std::vector<std::unique_ptr<Drafter>> drafters, const Options& options)
    : options_(options), clock_(GivenOrRealClock(options.clock)), composite_(std::move(drafters), clock_),
      costs_(options.costs != nullptr ? *options.costs : own_costs_), paused_(composite_.size()) {}

void Speculator::Begin(absl::Span<const TokenId> text) {
  composite_.Begin(text);
  root_ = text.back();
  idle_ = rest_ = rest_left_ = 0;
  const std::vector<TopTokens> top = std::exchange(prompt_top_, {});
  prompt_ = {.tokens = static_cast<int>(top.size())};
  for (const TopTokens& some : top) prompt_.learnt += some.empty() ? 0 : 1;
  report_.prompt_tokens += prompt_.tokens;
  report_.prompt_learnt += prompt_.learnt;
  if (prompt_.learnt > 0 && prompt_first_ + top.size() <= text.size()) composite_.LearnPrompt(prompt_first_, top);
}

// Prompts come in parts. A part that continues the parts before joins them; any other part replaces them.
void Speculator::LearnPrompt(int first, std::vector<TopTokens> top) {
  if (first != prompt_first_ + static_cast<int>(prompt_top_.size())) {
    prompt_top_.clear();
    prompt_first_ = first;
  }
  if (prompt_top_.empty()) {
    prompt_top_ = std::move(top);
    return;
  }
  prompt_top_.reserve(prompt_top_.size() + top.size());  // Not more: memory held counts.
  std::move(top.begin(), top.end(), std::back_inserter(prompt_top_));
}

bool Speculator::AnyActive() const {
  for (int source = 0; source < composite_.size(); ++source) {
    if (composite_.is_on(source)) return true;
  }
  return false;
}

// Switches drafters by the rules. Sequences of a set share rules: another sequence's step may have begun or ended a pause.
void Speculator::SwitchByRules() {
  for (int source = 0; source < composite_.size(); ++source) composite_.Switch(source, composite_.learning().rules[source].active());
}

double Speculator::DraftSeconds() const {
  if (resting_) return 0;
  double seconds = costs_.DraftSeconds(kMerging);
  for (int source = 0; source < composite_.size(); ++source) {
    if (composite_.is_on(source)) seconds += costs_.DraftSeconds(composite_.drafter(source).name());
  }
  return seconds;
}

TokenTree Speculator::Propose(const TreeRoom& room) {
  Draft(room);
  const double begin = Seconds();
  const TreeToCut to_cut = ToCut();
  const RowChoice choice = ShareRows({&to_cut, 1}, costs_, {.most_rows = std::max(room.rows, 1)})[0];
  const double seconds = ElapsedSeconds(begin, Seconds());
  merging_ += seconds;
  report_.draft_seconds += seconds;
  return Choose(choice);
}

const TokenTree& Speculator::Draft(const TreeRoom& room) {
  const double begin = Seconds();
  draft_ = TokenTree(root_);
  Ask({.rows = std::min(room.rows, options_.max_rows), .depth = room.depth});
  report_.draft_seconds += ElapsedSeconds(begin, Seconds());
  return draft_;
}

void Speculator::Ask(const TreeRoom& room) {
  resting_ = asked_ = false;
  SwitchByRules();
  if (room.rows <= 1 || room.depth <= 0 || !AnyActive()) return;
  resting_ = rest_left_ > 0 || !composite_.learning().together.active();
  if (resting_) {
    rest_left_ = std::max(rest_left_ - 1, 0);
    return;
  }
  asked_ = true;
  const double begin = Seconds();
  LOG_IF(FATAL, !composite_.Propose({.max_nodes = room.rows - 1, .max_depth = room.depth}, draft_).ok()) << "a composite does not fail";
  if (options_.drafted != nullptr) options_.drafted();
  // Until a step is measured, a draft cannot be compared with anything.
  if (options_.weigh_costs && !costs_.KnowsSteps()) draft_ = TokenTree(root_);
  merging_ = ElapsedSeconds(begin, Seconds());
  for (int source = 0; source < composite_.size(); ++source) merging_ -= composite_.propose_seconds(source);
  merging_ = std::max(merging_, 0.0);
}

void Speculator::AddForecasts(const TreeRoom& room, RowChoice& choice) const {
  const DrafterNeeds wants = needs();
  if (wants.forecast_rows == 0 || resting_ || (options_.weigh_costs && !costs_.KnowsSteps())) return;
  const ForecastLimits limits = {.rows_each = wants.forecast_rows, .most_rows = std::min(room.rows, options_.max_rows),
                                 .most_depth = room.depth - wants.forecast_rows, .tokens = wants.forecast_tokens,
                                 .weigh_costs = options_.weigh_costs};
  tessera::AddForecasts(draft_, costs_, limits, choice);
}

TokenTree Speculator::Choose(const RowChoice& choice) {
  const double begin = Seconds();
  choice_ = choice;
  TokenTree tree = draft_.Pick(choice.nodes);
  FindForecasts(tree);
  if (asked_) {
    costs_.AddDraft(kMerging, merging_ + ElapsedSeconds(begin, Seconds()));
    RestIfIdle(tree);
  }
  PlanLogits(tree);
  report_.predicted_tokens += choice_.tokens;
  report_.predicted_seconds += choice_.seconds;
  report_.predicted_plain_seconds += choice_.tokens * costs_.PlainSeconds(choice_.beside.texts + 1);
  report_.draft_seconds += ElapsedSeconds(begin, Seconds());
  return tree;
}

// Rests drafters without useful proposals. The time lost here is too small for PauseRule, but can be saved.
void Speculator::RestIfIdle(const TokenTree& tree) {
  if (tree.size() > 1 || !options_.weigh_costs || !costs_.KnowsSteps()) {
    idle_ = rest_ = 0;
  } else if (++idle_ >= kIdle) {
    rest_ = std::clamp(2 * rest_, 1, kLongestRest);
    rest_left_ = rest_;
  }
}

std::vector<int> Speculator::InDraft(const TokenTree& tree) const {
  std::vector<int> in_draft(tree.size(), TokenTree::kRoot);
  for (int node = 0; node < tree.size(); ++node) {
    if (node != TokenTree::kRoot) in_draft[node] = draft_.Child(in_draft[tree[node].parent], tree[node].token);
    CHECK_NE(in_draft[node], TokenTree::kNone) << "a tree that was not chosen from the draft";
  }
  return in_draft;
}

void Speculator::FindForecasts(const TokenTree& tree) {
  forecast_nodes_.clear();
  if (choice_.forecasts.empty()) return;
  const std::vector<int> in_draft = InDraft(tree);
  for (int node = 0; node < tree.size(); ++node) {
    if (std::binary_search(choice_.forecasts.begin(), choice_.forecasts.end(), in_draft[node])) forecast_nodes_.push_back(node);
  }
}

CostProfile::Shape Speculator::Placed(const TokenTree& tree) const {
  CostProfile::Shape shape = ShapeOf(tree);
  shape.rows += ForecastRows();
  return shape;
}

double Speculator::ForecastSeconds(const TokenTree& tree, const StepTime& time) const {
  if (forecast_nodes_.empty()) return 0;
  const CostProfile::Shape& beside = choice_.beside;
  return costs_.PassSeconds(Sum(Placed(tree), beside)) - costs_.PassSeconds(Sum(ShapeOf(tree), beside)) +
         costs_.HeadSeconds(time.ahead_rows) + costs_.TopSeconds(time.ahead_rows);
}

void Speculator::PlanLogits(const TokenTree& tree) {
  // Learning while all drafters rest, for lack of a worthy row, is used soon. A pause of all together may be long.
  plan_ = {.top = AnyActive() && composite_.learning().together.active() ? needs().top_of_rows : 0};
  learning_head_ = 0;
  const CostProfile::Shape own = Placed(tree), all = Sum(own, choice_.beside);
  const int most = std::min(tree.size(), LogitsPlan::kMostFirst), others = choice_.beside.texts;
  const HeadChoice head = ChooseHeadRows(tree, costs_, most, choice_.beside);
  plan_.first_rows = head.first_rows;
  double seconds = head.seconds;
  if (plan_.top > 0) {
    const double more_head = FirstHeadSeconds(most, costs_, others) - head.seconds, learning = more_head + costs_.TopSeconds(most - 1);
    if (!options_.weigh_costs || learning <= kLearningShare * choice_.seconds) {
      plan_.first_rows = most;
      learning_head_ = std::max(more_head, 0.0);
      seconds += learning;
    }
    seconds += costs_.TopSeconds(1);
  }
  choice_.seconds = DraftSeconds() + costs_.PassSeconds(all) * MarginalShare(all, own, costs_) + seconds;  // By the logits that come.
}

std::vector<CandidateSet> Speculator::Candidates(const TokenTree& tree) const {
  std::vector<CandidateSet> sets;
  const std::vector<int> in_draft = InDraft(tree);
  for (int node = 0; node < tree.size(); ++node) {
    CandidateSet set = {.node = node};
    const auto add = [&set](TokenId token) {
      if (std::find(set.tokens.begin(), set.tokens.end(), token) == set.tokens.end()) set.tokens.push_back(token);
    };
    for (int child = node + 1; child < tree.size(); ++child) {
      if (tree[child].parent == node) add(tree[child].token);
    }
    if (set.tokens.empty()) continue;
    for (int child = in_draft[node] + 1; child < draft_.size(); ++child) {
      if (draft_[child].parent == in_draft[node]) add(draft_[child].token);
    }
    const std::vector<TokenId> path = tree.PathTo(node);
    for (int source = 0; source < composite_.size(); ++source) {
      for (const TopToken& candidate : composite_.drafter(source).Candidates(path)) add(candidate.token);
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

const DrawnChildren* Speculator::Drawn(absl::Span<const TokenId> path) const {
  for (int source = 0; asked_ && source < composite_.size(); ++source) {
    if (!composite_.is_on(source)) continue;
    if (const DrawnChildren* const drawn = composite_.drafter(source).Drawn(path); drawn != nullptr) return drawn;
  }
  return nullptr;
}

void Speculator::Commit(const TokenTree& tree, const Verdict& verdict, const StepTime& time) {
  if (verdict.emitted.empty()) return;
  const double begin = Seconds();
  composite_.Commit(tree, verdict);
  root_ = verdict.emitted.back();
  report_.draft_seconds += ElapsedSeconds(begin, Seconds());
  LearnDrafts();
  report_.steps += 1;
  report_.tokens += verdict.emitted.size();
  report_.rows += tree.size() + ForecastRows();
  report_.forecast_rows += ForecastRows();
  report_.forecast_head_rows += time.ahead_rows;
  report_.drafted_steps += tree.size() > 1 ? 1 : 0;
  report_.paused_steps += AnyActive() && !resting_ ? 0 : 1;
  report_.rested_steps += resting_ ? 1 : 0;
  report_.first_head_rows += time.first_rows;
  report_.later_head_rows += time.later_rows;
  report_.pass_seconds += time.pass_seconds;
  report_.head_seconds += time.first_seconds + time.later_seconds + time.ahead_seconds;
  report_.top_seconds += time.top_seconds;
  ComparePlain(tree, verdict, time);
  if (options_.weigh_costs) Judge(tree, verdict, time);
}

// Compares with steps without draft. If there was no such step, costs measured in this run also do. Frozen costs do not: they are from
// another run, perhaps from another machine.
void Speculator::ComparePlain(const TokenTree& tree, const Verdict& verdict, const StepTime& time) {
  if (tree.size() == 1 && forecast_nodes_.empty()) {
    const double weight = std::max(kNewPlainWeight, 1 / static_cast<double>(++plain_steps_));
    plain_step_ += weight * (time.pass_seconds + time.first_seconds - plain_step_);
  }
  uncompared_tokens_ += static_cast<int64_t>(verdict.emitted.size());
  const double known = costs_.frozen() || !costs_.KnowsPlain() ? 0 : costs_.PlainSeconds(choice_.beside.texts + 1);
  const double plain = plain_step_ > 0 ? plain_step_ : known;
  if (plain <= 0) return;
  report_.plain_seconds += static_cast<double>(std::exchange(uncompared_tokens_, 0)) * plain;
  report_.compared_seconds = report_.Seconds();
}

void Speculator::LearnDrafts() {
  if (resting_) return;
  for (int source = 0; source < composite_.size(); ++source) {
    if (composite_.is_on(source)) costs_.AddDraft(composite_.drafter(source).name(), composite_.step_seconds(source));
  }
}

// Returns the seconds of head rows computed early or late, less the head's seconds for as many tokens at one per pass. Rows computed for
// learning count for the drafters that learn.
double Speculator::MoreHeadSeconds(const Verdict& verdict, const StepTime& time) const {
  const int others = choice_.beside.texts, together = 1 + std::min(others, choice_.beside.rows - others);
  const double later = time.later_rows * costs_.HeadSeconds(together) / together;
  const double plain = static_cast<double>(verdict.path.size() - 1) * costs_.HeadSeconds(others + 1) / (others + 1);
  return FirstHeadSeconds(time.first_rows, costs_, others) - FirstHeadSeconds(1, costs_, others) - learning_head_ + later - plain;
}

int Speculator::Learners() const {
  int learners = 0;
  for (int source = 0; source < composite_.size(); ++source) {
    learners += composite_.is_on(source) && composite_.drafter(source).needs().top_of_rows > 0 ? 1 : 0;
  }
  return learners;
}

// Judges every drafter by gain and cost. The gain of an accepted node is a plain pass, or this text's part of a plain pass of all texts.
// The cost is the time of the nodes and of the drafter. All times are taken from the costs, never from the clock.
void Speculator::Judge(const TokenTree& tree, const Verdict& verdict, const StepTime& time) {
  const CostProfile::Shape& beside = choice_.beside;
  const int texts = beside.texts + 1;
  const double pass = costs_.PassSeconds({.rows = texts, .leaves = texts, .texts = texts}) / texts;
  const double plain = costs_.PlainSeconds(texts);
  DraftLearning& learning = composite_.learning();
  if (resting_ && !learning.together.active()) learning.together.Skip();
  if (!costs_.KnowsSteps() || resting_) return;
  std::vector<int> nodes(composite_.size()), accepted(composite_.size());
  for (int node = 1; node < tree.size(); ++node) ++nodes[tree[node].source];
  for (const int node : verdict.path) {
    if (node != TokenTree::kRoot) ++accepted[tree[node].source];  // The root belongs to no drafter.
  }
  const double rows_seconds = costs_.PassSeconds(Sum(ShapeOf(tree), beside)) - costs_.PassSeconds(Sum({}, beside));
  const double row_seconds = tree.size() == 1 ? 0 : rows_seconds / (tree.size() - 1);
  const double learner_seconds = (learning_head_ + costs_.TopSeconds(time.top_rows)) / std::max(Learners(), 1);
  const double forecasts = ForecastSeconds(tree, time);
  const double merging = costs_.DraftSeconds(kMerging);
  PauseRule::Step all = {.gain = -(merging + MoreHeadSeconds(verdict, time)) / plain, .fixed_cost = merging / plain};
  for (int source = 0; source < composite_.size(); ++source) {
    const Drafter& drafter = composite_.drafter(source);
    PauseRule& rule = learning.rules[source];
    if (!composite_.is_on(source)) {
      paused_[source].steps += 1;
      if (!rule.active()) rule.Skip();
    } else if (rule.active()) {
      const DrafterNeeds needs = drafter.needs();
      const double fixed = costs_.DraftSeconds(drafter.name()) + (needs.top_of_rows > 0 ? learner_seconds : 0) +
                           (needs.forecast_rows > 0 ? forecasts : 0);
      const double gain = accepted[source] * pass - nodes[source] * row_seconds - fixed;
      rule.Add({.gain = gain / plain, .fixed_cost = fixed / plain});
      all.gain += gain / plain;
      all.fixed_cost += fixed / plain;
      paused_[source].times += rule.active() ? 0 : 1;
    }
  }
  if (asked_ && learning.together.active()) learning.together.Add(all);
  SwitchByRules();
}

SpeculationReport Speculator::report() const {
  SpeculationReport report = report_;
  for (int source = 0; source < composite_.size(); ++source) {
    const Drafter& drafter = composite_.drafter(source);
    report.sources.push_back({.name = std::string(drafter.name()), .choice = drafter.choice(), .account = composite_.account(source),
                              .pauses = paused_[source].times, .paused_steps = paused_[source].steps,
                              .loss = composite_.learning().rules[source].loss()});
  }
  return report;
}

}  // namespace tessera
