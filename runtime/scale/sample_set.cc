#include "tessera/runtime/scale/sample_set.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status Named(int sample, const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return status;
  return absl::Status(status.code(), absl::StrCat("sample ", sample, ": ", status.message()));
}

bool SameText(absl::string_view a, absl::string_view b) { return a == b; }

}  // namespace

absl::Status CheckSampleSet(const SampleSetOptions& options) {
  if (options.samples < 1) return WrongUsage("samples", options.samples, "1 or more");
  if (options.scorer == nullptr && options.selection != Selection::kMajority) {
    return WrongUsage("scorer", absl::StrCat("none for ", SelectionName(options.selection)), "one: it goes by scores");
  }
  return absl::OkStatus();
}

void PlanSampleSet(int samples, int max_tokens, EngineOptions& options) {
  CHECK_GT(samples, 0);
  const int64_t texts = std::max(options.workload.sessions, 1);
  const int64_t together = std::min<int64_t>(samples, texts);
  const int64_t more = max_tokens == 0 ? kUsualText : std::min(max_tokens, kUsualText);
  options.cache.text_share = static_cast<int>((kUsualText + (together - 1) * more + texts - 1) / texts);
}

SampleSet::SampleSet(const Engine& engine, const NewAnswer& asked, const SampleSetOptions& options, ParallelAnswers& answers)
    : options_(options), prompt_(asked.prompt), max_tokens_(asked.max_tokens), context_(engine.context()), answers_(answers) {
  CHECK(CheckSampleSet(options).ok());
  CHECK(asked.on_text == nullptr);
  result_.selection = options.selection;
  result_.scorer = options.scorer == nullptr ? "" : std::string(options.scorer->name());
  result_.samples.resize(static_cast<size_t>(samples()));
  NewAnswer common = asked;
  if (samples() > 1) common.siblings = answers_.NewSet();
  for (int sample = 0; sample < samples(); ++sample) Add(common, sample);
}

void SampleSet::Add(NewAnswer answer, int sample) {
  const auto slot = std::make_shared<Slot>();
  answer.stream = static_cast<uint64_t>(sample);
  answer.first = std::nullopt;
  answer.on_token = [slot](TokenId token, absl::Span<const float> logits) { slot->confidence.Add(token, logits); };
  answer.on_end = [slot](const absl::StatusOr<TimedAnswer>& ended) { slot->ended = ended; };
  underway_.push_back({.id = answers_.Add(std::move(answer)), .slot = slot});
}

SampleSet::~SampleSet() {
  for (const Underway& one : underway_) {
    if (!one.slot->ended.has_value()) answers_.Cancel(one.id);
  }
}

absl::Status SampleSet::Run(const std::function<void(int ended)>& after_step) {
  while (!done_) {
    ASSIGN_OR_RETURN(const bool more, answers_.Step());
    RETURN_IF_ERROR(Advance());
    CHECK(more || done_) << ended_ << " of " << samples() << " samples have ended";
    if (after_step) after_step(ended_);
  }
  return absl::OkStatus();
}

absl::Status SampleSet::Advance() {
  CHECK(!done_);
  if (error_.ok()) {
    error_ = TakeEnded();
    if (error_.ok() && ended_ == samples()) error_ = Finish();
    if (WaitsForRoom(error_)) error_ = absl::OkStatus();
    if (error_.ok()) return absl::OkStatus();
    for (const Underway& one : underway_) answers_.Cancel(one.id);
  }
  const auto ended = [](const Underway& one) { return one.slot->ended.has_value(); };
  return std::all_of(underway_.begin(), underway_.end(), ended) ? error_ : absl::OkStatus();
}

absl::Status SampleSet::TakeEnded() {
  const int before = votes_;
  for (int sample = 0; sample < samples(); ++sample) {
    Underway& one = underway_[static_cast<size_t>(sample)];
    if (one.taken || !one.slot->ended.has_value()) continue;
    one.taken = true;
    ++ended_;
    RETURN_IF_ERROR(Named(sample, Take(sample)));
  }
  if (ScoresAtOnce()) RETURN_IF_ERROR(ScoreAll());
  if (votes_ > before && StopsEarly()) CutOff();
  return absl::OkStatus();
}

// Returns whether scoring is to be tried again later. A scorer that runs a model may find the cache full of running texts, of this set or
// others.
bool SampleSet::WaitsForRoom(const absl::Status& status) const { return absl::IsResourceExhausted(status) && answers_.unended() > 0; }

absl::Status SampleSet::Take(int number) {
  const Underway& one = underway_[static_cast<size_t>(number)];
  RETURN_IF_ERROR(one.slot->ended->status());
  SetSample& sample = result_.samples[static_cast<size_t>(number)];
  sample.written = **one.slot->ended;
  sample.mean_log_probability = one.slot->confidence.mean_log_probability();
  sample.self_certainty = one.slot->confidence.self_certainty();
  const int64_t tokens = static_cast<int64_t>(sample.written.text.tokens.size());
  result_.tokens += tokens;
  if (!sample.whole()) {
    result_.most_tokens_left_out += MostTokens() - tokens;
    return one.cut ? absl::OkStatus() : absl::CancelledError("stopped");
  }
  if (options_.answer) sample.answer = options_.answer(sample.written.text.text);
  if (options_.selection != Selection::kWeighted) ++votes_;
  return absl::OkStatus();
}

int64_t SampleSet::MostTokens() const {
  const int64_t room = int64_t{context_} - static_cast<int64_t>(prompt_.size()) + 1;   // The last token takes no position.
  return max_tokens_ == 0 ? room : std::min<int64_t>(room, max_tokens_);
}

bool SampleSet::StopsEarly() const {
  if (options_.selection == Selection::kWeighted) return options_.stops_early && std::isfinite(options_.most_weight);
  return options_.stops_early && options_.selection == Selection::kMajority;
}

// Returns whether samples are scored as soon as they end, because scores decide when other samples are cut off. Otherwise scoring waits, so
// that a scorer that runs a model takes no room from running texts.
bool SampleSet::ScoresAtOnce() const { return StopsEarly() && options_.selection == Selection::kWeighted; }

absl::Status SampleSet::Score(int number) {
  SetSample& sample = result_.samples[static_cast<size_t>(number)];
  ASSIGN_OR_RETURN(const double score, options_.scorer->Score({.prompt = prompt_,
                                                               .tokens = sample.written.text.tokens,
                                                               .text = sample.written.text.text,
                                                               .mean_log_probability = sample.mean_log_probability,
                                                               .self_certainty = sample.self_certainty,
                                                               .problem = options_.problem}));
  sample.score = score;
  if (options_.selection != Selection::kWeighted) return absl::OkStatus();
  ++votes_;
  double& weight = underway_[static_cast<size_t>(number)].weight;
  weight = options_.weight ? options_.weight(score) : score;
  // A weight that is no number gives no vote.
  if (!(weight < 0) && !(weight > options_.most_weight)) return absl::OkStatus();
  const std::string most = std::isfinite(options_.most_weight) ? absl::StrCat("0 to ", options_.most_weight) : "0 or more";
  return WrongUsage("scorer", absl::StrCat("a weight of ", weight, " by ", result_.scorer), absl::StrCat(most, ", as votes have"));
}

absl::Status SampleSet::ScoreAll() {
  if (options_.scorer == nullptr) return absl::OkStatus();
  for (int sample = 0; sample < samples(); ++sample) {
    const SetSample& written = result_.samples[static_cast<size_t>(sample)];
    if (!underway_[static_cast<size_t>(sample)].taken || !written.whole() || written.score.has_value()) continue;
    const absl::Status scored = Score(sample);
    // A majority needs no scores: a score that fails is left out.
    if (options_.selection == Selection::kMajority && !absl::IsCancelled(scored)) continue;
    RETURN_IF_ERROR(Named(sample, scored));
  }
  return absl::OkStatus();
}

// Returns the groups of answers among whole samples.
std::vector<int> SampleSet::Groups() const {
  std::vector<std::optional<std::string>> answers;
  for (size_t i = 0; i < result_.samples.size(); ++i) {
    const SetSample& sample = result_.samples[i];
    if (!underway_[i].taken || !sample.whole()) answers.push_back(std::nullopt);
    else if (options_.answer) answers.push_back(sample.answer);
    else answers.push_back(sample.written.text.text.empty() ? std::nullopt : std::optional(sample.written.text.text));
  }
  return options_.same ? GroupAnswers(answers, options_.same) : GroupAnswers(answers, SameText);
}

VoteCount SampleSet::Votes() const {
  const std::vector<int> groups = Groups();
  VoteCount count(samples());
  for (int sample = 0; sample < samples(); ++sample) {
    const size_t i = static_cast<size_t>(sample);
    const bool is_scored = options_.selection != Selection::kWeighted || result_.samples[i].score.has_value();
    if (underway_[i].taken && result_.samples[i].whole() && is_scored) count.Add(sample, groups[i], underway_[i].weight);
  }
  return count;
}

// Cuts off samples once the vote is decided. A sample before the leader may be the first with the leader's answer, and the first is chosen.
void SampleSet::CutOff() {
  const VoteCount votes = Votes();
  const double most = options_.selection == Selection::kMajority ? 1 : options_.most_weight;
  if (votes.pending() == 0 || !votes.IsDecided(most)) return;
  if (result_.whole_when_decided == 0) result_.whole_when_decided = samples() - votes.pending();
  for (int sample = votes.Leader() + 1; sample < samples(); ++sample) {
    Underway& one = underway_[static_cast<size_t>(sample)];
    if (one.taken || one.cut) continue;
    one.cut = true;
    answers_.Cancel(one.id);
  }
}

absl::Status SampleSet::Finish() {
  RETURN_IF_ERROR(ScoreAll());
  if (result_.whole_when_decided == 0) result_.whole_when_decided = samples();
  if (options_.selection == Selection::kBestOfN) {
    std::vector<double> scores;
    for (const SetSample& sample : result_.samples) scores.push_back(*sample.score);
    result_.chosen = Select(Selection::kBestOfN, Groups(), scores);
  } else {
    result_.chosen = std::max(Votes().Leader(), 0);
  }
  done_ = true;
  return absl::OkStatus();
}

const SampleSetResult& SampleSet::result() const {
  CHECK(done_);
  return result_;
}

void WriteSampleSet(JsonWriter& json, const SampleSetResult& result) {
  json.BeginObject().Key("chosen").Int(result.chosen).Key("selection").String(SelectionName(result.selection)).Key("scorer");
  if (result.scorer.empty()) json.Null(); else json.String(result.scorer);
  json.Key("whole_when_decided").Int(result.whole_when_decided).Key("tokens").Int(result.tokens);
  json.Key("most_tokens_left_out").Int(result.most_tokens_left_out).Key("samples").BeginArray();
  for (const SetSample& sample : result.samples) {
    const Generation& text = sample.written.text;
    json.BeginObject().Key("text").String(text.text).Key("finish").String(FinishReasonName(text.reason));
    json.Key("tokens").Int(static_cast<int64_t>(text.tokens.size())).Key("answer");
    if (sample.answer.has_value()) json.String(*sample.answer); else json.Null();
    json.Key("score");
    if (sample.score.has_value()) json.Double(*sample.score, 6); else json.Null();
    json.Key("mean_log_probability").Double(sample.mean_log_probability, 6);
    json.Key("self_certainty").Double(sample.self_certainty, 6).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace tessera
