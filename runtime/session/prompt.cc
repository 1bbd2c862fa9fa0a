#include "tessera/runtime/session/prompt.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

int RowsToLearn(const ModelConfig& config, int count) {
  const double attention = 2.0 * config.head_size * (config.heads + config.kv_heads), feed_forward = 3.0 * config.feed_forward;
  const double layers = static_cast<double>(config.layers.size()) * (attention + feed_forward);
  return static_cast<int>(kLearningShare * count * layers / config.vocabulary);  // The width cancels out.
}

std::vector<int> PlacesToLearn(absl::Span<const TokenId> tokens, int begin, int count) {
  struct Seen {
    int times = 0, last = 0;
  };
  absl::flat_hash_map<TokenId, Seen> seen;
  for (size_t place = 0; place < tokens.size(); ++place) {
    Seen& one = seen[tokens[place]];
    one = {one.times + 1, static_cast<int>(place)};
  }
  std::vector<Seen> order;
  for (const auto& [token, one] : seen) {
    if (one.last >= begin) order.push_back(one);
  }
  std::sort(order.begin(), order.end(),
            [](const Seen& a, const Seen& b) { return a.times != b.times ? a.times > b.times : a.last > b.last; });
  order.resize(std::min<size_t>(order.size(), std::max(count, 0)));
  std::vector<int> places;
  for (const Seen& one : order) places.push_back(one.last);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<int> PlacesToLearn(const EngineCore& core, absl::Span<const TokenId> tokens) {
  const int size = static_cast<int>(tokens.size()), capacity = core.prompt_rows();
  const int count = RowsToLearn(core.model().config(), size);
  if (!core.model().streams()) return PlacesToLearn(tokens, /*begin=*/0, count);
  const int last_pass = std::max(0, size - 1) / capacity * capacity;   // The head is not read for learning alone.
  return PlacesToLearn(tokens, last_pass, std::min(count, core.logits_at_once() - 1));
}

namespace {

// Sets a session's listener until this object ends. Null: the session keeps its listener.
class Listening {
 public:
  Listening(Session& session, LayerListener* listener) : session_(session), before_(session.listener()) {
    if (listener != nullptr) session_.SetListener(listener);
  }
  ~Listening() { session_.SetListener(before_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Session& session_;
  LayerListener* const before_;
};

}  // namespace

absl::Status AppendPrompt(Session& session, Speculator* speculator, absl::Span<const TokenId> tokens) {
  const Listening listening(session, speculator == nullptr ? nullptr : speculator->listener());
  const int wanted = speculator == nullptr ? 0 : speculator->needs().top_of_prompt;
  if (wanted == 0) return session.Append(tokens);
  const EngineCore& core = CoreOf(session);
  const int first = session.length();
  std::vector<TopTokens> top(tokens.size());
  const auto learn = [&](int index, absl::Span<const float> logits) {
    top[index] = TopTokensOf(logits, wanted);
    return absl::OkStatus();
  };
  const std::vector<int> places = PlacesToLearn(core, tokens);
  RETURN_IF_ERROR(session.AppendSome(tokens, places, learn));
  if (core.options().spend != nullptr) core.options().spend(CpuWork::kSampledTokens, static_cast<int64_t>(places.size()));
  speculator->LearnPrompt(first, std::move(top));
  return absl::OkStatus();
}

}  // namespace tessera
