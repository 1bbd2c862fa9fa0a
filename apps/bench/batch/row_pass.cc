#include "tessera/apps/bench/batch/row_pass.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/session.h"

namespace tessera {
namespace {

constexpr int kPasses = 5;

}  // namespace

absl::StatusOr<double> SecondsOfRowPass(Engine& engine, absl::Span<const TokenId> before, absl::Span<const TokenId> rows) {
  const Clock& clock = engine.ClockOr(nullptr);
  const int count = static_cast<int>(rows.size()), most = CoreOf(engine).logits_at_once();
  const int64_t vocabulary = engine.config().vocabulary;
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  RETURN_IF_ERROR(session->Append(before));
  TokenTree chain(rows[0]);
  for (int node = 1; node < count; ++node) chain.Add(node - 1, rows[static_cast<size_t>(node)], 1);
  std::vector<float> logits(static_cast<size_t>(std::min(count, most) * vocabulary));
  std::vector<double> seconds;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int64_t begin = clock.NowNanos();
    absl::Status status = session->PassTree(chain);
    RETURN_IF_ERROR(status);
    for (int first = 0; first < count && status.ok(); first += most) {
      std::vector<int> nodes;
      for (int node = first; node < std::min(count, first + most); ++node) nodes.push_back(node);
      status = session->TreeLogits(nodes, TensorView<float>(logits.data(), static_cast<int64_t>(nodes.size()), vocabulary));
    }
    seconds.push_back(static_cast<double>(clock.NowNanos() - begin) * 1e-9);
    session->Keep({}, {});
    RETURN_IF_ERROR(status);
  }
  return MedianOf(seconds);
}

}  // namespace tessera
