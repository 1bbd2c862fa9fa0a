#include "tessera/runtime/draft/model_expander.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/config.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/prefix_index.h"
#include "tessera/runtime/session/session.h"

namespace tessera {
namespace {

constexpr int kMostRows = 64;                        // Rows per pass.
constexpr int kLogitRows = Session::kLogitRows;      // Rows of logits held at once.
constexpr int64_t kTreeBytes = int64_t{512} << 10;   // Upper bound for a tree and the rows of a pass.

// Returns the most nodes of a tree. Layers with a window have room for the window of a sequence and the rows of one pass.
int MostNodes(const EngineCore& core) {
  const std::vector<int> windows = WindowsOf(core.model().config());
  const bool has_windows = std::any_of(windows.begin(), windows.end(), [](int window) { return window > 0; });
  return has_windows ? core.runner().row_capacity() : std::numeric_limits<int>::max();
}

bool Has(absl::Span<const int> nodes, int node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); }

}  // namespace

absl::StatusOr<std::unique_ptr<ModelExpander>> ModelExpander::Create(std::shared_ptr<Engine> draft, const Options& options) {
  CHECK(draft != nullptr);
  const auto refused = [&](absl::string_view found, absl::string_view expected) {
    return absl::FailedPreconditionError(absl::StrCat("draft ", options.name, ": found ", found, ", expected ", expected));
  };
  if (options.vocabulary < 0) return WrongUsage("vocabulary", options.vocabulary, "0 (the draft's) or more");
  const std::shared_ptr<EngineCore> core = SharedCoreOf(*draft);
  if (!core->is_loaded()) return refused("no weights", "LoadWeights before");
  if (core->motion() != nullptr) return refused("graphs that are switched while a prompt is read", "an engine that does not switch them");
  return core->Guarded([&]() -> absl::StatusOr<std::unique_ptr<ModelExpander>> {
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core->AwaitTurn());
    return std::unique_ptr<ModelExpander>(new ModelExpander(draft, std::make_unique<CachedText>(core->cache()), options));
  });
}

ModelExpander::ModelExpander(std::shared_ptr<Engine> draft, std::unique_ptr<CachedText> text, const Options& options)
    : draft_(std::move(draft)), core_(SharedCoreOf(*draft_)), options_(options),
      clock_(core_->model().timed_streamer(), draft_->ClockOr(options.clock)),
      costs_(options.costs != nullptr ? *options.costs : own_costs_),
      vocabulary_(options.vocabulary == 0 ? draft_->config().vocabulary : std::min(options.vocabulary, draft_->config().vocabulary)),
      most_nodes_(MostNodes(*core_)), text_(std::move(text)) {}

ModelExpander::~ModelExpander() {
  const EngineCore::Hold hold = core_->AwaitHold();
  if (!core_->health().ok()) text_->Abandon();
  text_->Release();
}

int ModelExpander::most_rows() const { return std::min(kMostRows, core_->runner().row_capacity()); }

double ModelExpander::Seconds(int rows) const {
  return rows <= 0 ? 0 : costs_.PassSeconds({.rows = rows, .leaves = rows}) + costs_.HeadSeconds(rows);
}

int64_t ModelExpander::bytes() const {
  const size_t bytes = sizeof(*this) + sizeof(CachedText) + logits_.capacity() * sizeof(float) + answers_.capacity() * sizeof(Answer) +
                       rows_.capacity() * sizeof(PassRow) + text_->tokens().size() * sizeof(TokenId);
  return static_cast<int64_t>(bytes);
}

int64_t ModelExpander::MostBytes(int context, int vocabulary) {
  const int64_t tokens = 2 * int64_t{context} * static_cast<int64_t>(sizeof(TokenId));   // A growing vector's largest capacity.
  const int64_t logits = int64_t{kLogitRows} * vocabulary * static_cast<int64_t>(sizeof(float));
  return static_cast<int64_t>(sizeof(ModelExpander) + sizeof(CachedText)) + tokens + logits + kTreeBytes;
}

absl::Status ModelExpander::CheckTokens(int64_t first, absl::Span<const TokenId> tokens) const {
  const int64_t length = first + static_cast<int64_t>(tokens.size());
  if (length > core_->context()) {
    return absl::ResourceExhaustedError(absl::StrCat("draft ", options_.name, ": found a text of ", length, " tokens, expected at most ",
                                                     core_->context(), ", the draft's context"));
  }
  const int vocabulary = core_->model().config().vocabulary;
  for (const TokenId token : tokens) {
    if (token >= 0 && token < vocabulary) {
      ++first;
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("draft ", options_.name, ": token ", first, ": found ", token, ", expected 0 to ", vocabulary - 1));
  }
  return absl::OkStatus();
}

absl::Status ModelExpander::Begin(absl::Span<const TokenId> text) {
  CHECK(!text.empty()) << "a text has a last token";
  const absl::Status begun = core_->Guarded([&] { return BeginHeld(text); });
  if (!core_->health().ok()) text_->Abandon();
  begun_ = begun.ok();
  return begun;
}

absl::Status ModelExpander::BeginHeld(absl::Span<const TokenId> text) {
  const EngineCore::Hold hold = core_->AwaitHold();
  RETURN_IF_ERROR(core_->health());
  // The root may be in this sequence, too.
  if (text_->tree() != nullptr) text_->KeepPath({TokenTree::kRoot}, core_->compacts_drafts());
  answers_.clear();
  placed_ = 0;
  RETURN_IF_ERROR(CheckTokens(0, text));
  root_ = text.back();
  text.remove_suffix(1);
  const int common = CommonPrefix(text_->tokens(), text);
  text_->Truncate(common);
  text_->Append(text.subspan(static_cast<size_t>(common)));
  return absl::OkStatus();
}

void ModelExpander::CheckNodes(const TokenTree& tree, absl::Span<const int> nodes) const {
  CHECK(begun_) << "draft " << name() << ": no text";
  CHECK_EQ(tree[TokenTree::kRoot].token, root_) << "draft " << name() << ": the root of another tree";
  CHECK(!nodes.empty() && static_cast<int>(nodes.size()) <= most_rows()) << nodes.size() << " nodes";
  const bool has_root = IsGiven(TokenTree::kRoot) || Has(nodes, TokenTree::kRoot);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    CHECK(node >= 0 && node < tree.size() && !IsGiven(node) && !Has(nodes.first(i), node)) << "node " << node;
    if (node == TokenTree::kRoot) continue;
    const int parent = tree[node].parent;
    CHECK(has_root && (parent == TokenTree::kRoot || IsGiven(parent))) << "node " << node << " before its parent";
  }
}

absl::StatusOr<std::vector<TopTokens>> ModelExpander::Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) {
  CheckNodes(tree, nodes);
  absl::StatusOr<std::vector<TopTokens>> said = core_->Guarded([&] { return ExpandHeld(tree, nodes, most); });
  if (!core_->health().ok()) text_->Abandon();
  return said;
}

absl::StatusOr<std::vector<TopTokens>> ModelExpander::ExpandHeld(const TokenTree& tree, absl::Span<const int> nodes, int most) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->AwaitTurn());
  if (Has(nodes, TokenTree::kRoot) && text_->IsPlaced(TokenTree::kRoot) && answers_[TokenTree::kRoot].most != most) {
    text_->KeepPath({}, /*compact=*/false);   // The known answer has another number of candidates.
    placed_ = 0;
  }
  const std::vector<int> computed = NodesToCompute(nodes);
  std::vector<TopTokens> said(computed.size());
  if (!computed.empty()) {
    RETURN_IF_ERROR(ReadText(static_cast<int>(computed.size())));
    RETURN_IF_ERROR(Compute(tree, computed, most, said));
  }
  placed_ += static_cast<int>(computed.size());
  answers_.resize(std::max(answers_.size(), tree.nodes().size()));
  for (size_t i = 0; i < computed.size(); ++i) answers_[static_cast<size_t>(computed[i])] = {.most = most, .top = std::move(said[i])};
  std::vector<TopTokens> all;
  for (const int node : nodes) {
    Answer& answer = answers_[static_cast<size_t>(node)];   // The answer of a node without room is empty.
    answer.is_given = true;
    all.push_back(answer.top);
  }
  return all;
}

// Returns the nodes to compute. Once a node finds no room, no later node finds room until the commit: the parent of a node with room has
// room.
std::vector<int> ModelExpander::NodesToCompute(absl::Span<const int> nodes) const {
  int room = std::min(core_->context() - text_->length(), most_nodes_) - placed_;
  std::vector<int> chosen;
  const auto choose = [&](int node) {
    if (room <= 0 || text_->IsPlaced(node)) return;
    chosen.push_back(node);
    --room;
  };
  if (Has(nodes, TokenTree::kRoot)) choose(TokenTree::kRoot);   // A row comes after the rows that it attends to.
  for (const int node : nodes) {
    if (node != TokenTree::kRoot) choose(node);
  }
  return chosen;
}

absl::Status ModelExpander::ReadText(int nodes) {
  if (text_->tree() != nullptr) return absl::OkStatus();   // The sequence was read with the root.
  text_->MakeExtendable();
  const int capacity = core_->runner().row_capacity();
  while (text_->length() - text_->held() + nodes > capacity) {
    const int before = text_->held(), count = std::min(text_->length() - before, capacity);
    RETURN_IF_ERROR(core_->MakeRoom(count));
    rows_.clear();
    RETURN_IF_ERROR(text_->PlaceNext(count, /*adapter=*/nullptr, rows_));
    const auto run = [&]() -> absl::Status {
      const TimelineScope scope(options_.timeline, Zone::kDraft, count);
      ASSIGN_OR_RETURN(Pass pass, core_->Begin(rows_, /*cancel=*/nullptr));
      return core_->Finish(pass, /*wanted=*/{}).status();
    };
    if (const absl::Status status = run(); !status.ok()) {
      text_->TruncateCache(before);
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ModelExpander::Compute(const TokenTree& tree, absl::Span<const int> nodes, int most, std::vector<TopTokens>& said) {
  const int first = text_->length() - text_->held();
  RETURN_IF_ERROR(core_->MakeRoom(first + static_cast<int>(nodes.size())));
  rows_.clear();
  RETURN_IF_ERROR(text_->PlaceMore(tree, nodes, /*adapter=*/nullptr, rows_));
  const absl::Status status = RunNodes(first, most, said);
  if (!status.ok()) text_->TakeBackMore();
  return status;
}

absl::Status ModelExpander::RunNodes(int first, int most, std::vector<TopTokens>& said) {
  const int rows = static_cast<int>(rows_.size()), nodes = rows - first;
  std::vector<int> wanted(static_cast<size_t>(nodes));
  std::iota(wanted.begin(), wanted.end(), first);
  const TimelineScope scope(options_.timeline, Zone::kDraft, rows);
  const double begin = clock_.Seconds();
  ASSIGN_OR_RETURN(Pass pass, core_->Begin(rows_, /*cancel=*/nullptr));
  ASSIGN_OR_RETURN(const HiddenRows done, core_->Finish(pass, wanted));
  const double pass_seconds = clock_.SecondsSince(begin), head_begin = clock_.Seconds();
  RETURN_IF_ERROR(ChooseTop(done, wanted, most, said));
  if (rows > most_rows()) return absl::OkStatus();   // Nearly all rows are prompt rows.
  costs_.AddPass({.rows = rows, .leaves = nodes}, pass_seconds);
  costs_.AddHead(nodes, clock_.SecondsSince(head_begin));
  return absl::OkStatus();
}

absl::Status ModelExpander::ChooseTop(const HiddenRows& rows, absl::Span<const int> wanted, int most, std::vector<TopTokens>& said) {
  const size_t columns = static_cast<size_t>(core_->model().config().vocabulary), used = static_cast<size_t>(vocabulary_);
  const size_t at_once = std::min(wanted.size(), static_cast<size_t>(std::min(core_->logits_at_once(), kLogitRows)));
  if (logits_.size() < at_once * columns) logits_.resize(at_once * columns);
  ThreadPool& pool = core_->pool();
  for (size_t begin = 0; begin < wanted.size(); begin += at_once) {
    const absl::Span<const int> some = wanted.subspan(begin, at_once);
    const int64_t count = static_cast<int64_t>(some.size());
    const TensorView<float> logits(logits_.data(), count, static_cast<int64_t>(columns));
    RETURN_IF_ERROR(core_->runner().Logits(rows, some, logits));
    pool.Run([&](int worker) {
      const Share share = ShareOf(count, worker, pool.threads());
      for (int64_t i = share.begin; i < share.end; ++i) said[begin + static_cast<size_t>(i)] = TopTokensOf({logits.row(i), used}, most);
    });
  }
  return absl::OkStatus();
}

std::vector<int> ModelExpander::PathOf(const TokenTree& tree, absl::Span<const TokenId> emitted) const {
  std::vector<int> path;
  if (!text_->IsPlaced(TokenTree::kRoot)) return path;
  path.push_back(TokenTree::kRoot);
  for (const TokenId token : emitted) {
    const int child = tree.Child(path.back(), token);
    if (!text_->IsPlaced(child)) break;
    path.push_back(child);
  }
  return path;
}

absl::Status ModelExpander::Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) {
  CHECK(begun_) << "draft " << name() << ": no text";
  const absl::Status committed = core_->Guarded([&] { return CommitHeld(tree, emitted); });
  if (!core_->health().ok()) text_->Abandon();
  begun_ = committed.ok();
  return committed;
}

// Commits the accepted tokens. If the cache has all of these, the last token stays placed, as the root, with its known answer.
absl::Status ModelExpander::CommitHeld(const TokenTree& tree, absl::Span<const TokenId> emitted) {
  const EngineCore::Hold hold = core_->AwaitHold();
  RETURN_IF_ERROR(core_->health());
  RETURN_IF_ERROR(CheckTokens(text_->length() + 1, emitted));
  const std::vector<int> path = PathOf(tree, emitted);
  std::vector<Answer> known;
  if (!path.empty()) {
    known.push_back(std::move(answers_[static_cast<size_t>(path.back())]));
    known.back().is_given = false;
    text_->KeepPath(path, core_->compacts_drafts());
  } else if (!emitted.empty()) {
    text_->Append({root_});
  }
  answers_.clear();
  placed_ = 0;
  if (path.size() == emitted.size() + 1) {
    text_->LiftRoot();
    answers_ = std::move(known);
    placed_ = 1;
  } else if (!emitted.empty()) {
    const size_t kept = path.empty() ? 0 : path.size() - 1;
    text_->Append(emitted.subspan(kept, emitted.size() - 1 - kept));
  }
  if (!emitted.empty()) root_ = emitted.back();
  return absl::OkStatus();
}

}  // namespace tessera
