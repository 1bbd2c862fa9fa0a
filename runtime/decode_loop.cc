#include "tessera/runtime/decode_loop.h"

#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/internal/text_writer.h"
#include "tessera/runtime/measure_costs.h"
#include "tessera/runtime/tree_logits.h"

namespace tessera {
namespace {

// One pass and what it gives: a token at least. The text's last token is not part of the session yet, and is not afterwards.
absl::StatusOr<Choice> Step(Session& session, const TokenTree& tree, Speculator* speculator, TreeLogits& logits, TextWriter& text) {
  const double begin = logits.clock().Seconds();
  RETURN_IF_ERROR(session.PassTree(tree));
  const double pass_seconds = logits.clock().SecondsSince(begin);
  logits.Begin(tree.size(), speculator == nullptr ? LogitsPlan() : speculator->logits_plan());
  Verdict verdict;
  Choice last = {};
  const auto choose = [&](absl::Span<const float> values) -> absl::StatusOr<Choice> {
    ASSIGN_OR_RETURN(last, text.Next(values));
    return last;
  };
  const absl::Status status = Verify(tree, [&](int node) { return logits.Of(node); }, choose, verdict);
  if (!status.ok()) verdict.path.pop_back();  // It gave no token: as if the pass had ended before it.
  session.Keep(verdict.path, status.ok() ? logits.last() : absl::Span<const float>());
  RETURN_IF_ERROR(status);
  if (speculator == nullptr) return last;
  verdict.top = logits.TakeTop();
  StepTime time = logits.time();
  time.pass_seconds = pass_seconds;
  LearnStep(ShapeOf(tree), time, speculator->costs());
  speculator->Commit(tree, verdict, time);
  return last;
}

// A pass gives a token more than its tree is deep: what is drafted beyond the last token that is wanted is computed for nothing.
TreeRoom RoomFor(const GenerateOptions& options, const Generation& result, int logits_at_once, int room) {
  const int64_t written = static_cast<int64_t>(result.tokens.size());
  const int64_t wanted = options.max_tokens > 0 ? std::min<int64_t>(room, options.max_tokens - written) : room;
  return {.rows = std::min(room, logits_at_once), .depth = static_cast<int>(wanted) - 1};
}

absl::StatusOr<Generation> Write(Session& session, const Sampler& sampler, const GenerateOptions& options) {
  if (session.logits().empty()) return absl::FailedPreconditionError("Generate: the session is empty, expected a prompt");
  Generation result;
  const EngineCore& core = CoreOf(session);
  TextWriter text(core, sampler, options, result);
  ASSIGN_OR_RETURN(Choice last, text.Next(session.logits()));
  Speculator* const speculator = options.speculator;
  if (speculator != nullptr && !last.last) {
    if (CostProfile* const costs = speculator->CostsToMeasure(); costs != nullptr) {
      const absl::Status measured = MeasureCosts(
          session, {options.measure_seconds, speculator->max_rows(), &speculator->clock()}, *costs);
      if (!absl::IsCancelled(measured)) RETURN_IF_ERROR(measured);  // Then the next pass is, too.
    }
    std::vector<TokenId> so_far(session.tokens().begin(), session.tokens().end());
    so_far.push_back(last.token);
    speculator->Begin(so_far);
  }
  const int vocabulary = core.model().config().vocabulary;
  TreeLogits logits = speculator == nullptr ? TreeLogits(session, vocabulary) : TreeLogits(session, vocabulary, speculator->clock());
  while (!last.last) {
    const int room = session.TreeRoom();
    if (room == 0) {
      result.reason = FinishReason::kContextFull;
      break;
    }
    const TokenTree tree = speculator == nullptr ? TokenTree(last.token)
                                                 : speculator->Propose(RoomFor(options, result, core.logits_at_once(), room));
    const absl::StatusOr<Choice> next = Step(session, tree, speculator, logits, text);
    if (absl::IsCancelled(next.status())) {
      result.reason = FinishReason::kCancelled;
      break;
    }
    RETURN_IF_ERROR(next.status());
    last = *next;
    ++result.passes;
    result.rows += tree.size();
  }
  text.Finish();
  return result;
}

}  // namespace

absl::StatusOr<Generation> Generate(Session& session, const Sampler& sampler, const GenerateOptions& options) {
  return CoreOf(session).Guarded([&] { return Write(session, sampler, options); });
}

}  // namespace tessera
