#include "tessera/runtime/scale/internal/text_reader.h"

#include <algorithm>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::Status TextReader::CheckTokens(absl::Span<const TokenId> tokens) const {
  const int context = core_->context(), vocabulary = core_->model().config().vocabulary;
  if (tokens.size() > static_cast<size_t>(context)) {
    return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat("text to be scored: found ", tokens.size(),
                                                                          " tokens, expected at most ", context, ", the context")));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat("token ", i, ": found ", tokens[i], ", expected 0 to ", vocabulary - 1));
  }
  return absl::OkStatus();
}

absl::Status TextReader::Walk(absl::Span<const TokenId> tokens, int needed, RunPart run_part) {
  RETURN_IF_ERROR(CheckTokens(tokens));
  std::unique_ptr<CachedText> text;
  const absl::Status status = core_->Guarded([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->AwaitTurn());
    const PrefixIndex::AdapterKey no_adapter = PrefixIndex::KeyOf(nullptr);
    text = core_->prefixes().Take(tokens.first(static_cast<size_t>(needed) + 1), no_adapter);
    if (text == nullptr) text = std::make_unique<CachedText>(core_->cache());
    text->Append(tokens.subspan(static_cast<size_t>(text->length())));
    const absl::Status walked = WalkParts(*text, run_part);
    if (walked.ok()) core_->prefixes().Keep(std::move(text), no_adapter);
    text = nullptr;   // Destroyed while the cache is held.
    return walked;
  });
  if (text != nullptr) text->Abandon();   // Memory ended during the call.
  return status;
}

absl::Status TextReader::WalkParts(CachedText& text, RunPart run_part) {
  text.MakeExtendable();
  while (text.held() < text.length()) {
    const int first = text.held(), count = std::min(text.length() - first, core_->runner().row_capacity());
    RETURN_IF_ERROR(core_->MakeRoom(count));
    rows_.clear();
    RETURN_IF_ERROR(text.PlaceNext(count, /*adapter=*/nullptr, rows_));
    ASSIGN_OR_RETURN(Pass pass, core_->Begin(rows_, /*cancel=*/nullptr));
    RETURN_IF_ERROR(run_part(pass, first, count));
    computed_ += count;
  }
  return absl::OkStatus();
}

absl::Status TextReader::ReadStates(absl::Span<const TokenId> tokens, int layer, absl::Span<const int> places, OnState on_state) {
  CHECK(!places.empty() && places.front() >= 0 && static_cast<size_t>(places.back()) < tokens.size()) << "places of the text";
  size_t next = 0;
  return Walk(tokens, places.front(), [&](Pass& pass, int first, int count) -> absl::Status {
    RETURN_IF_ERROR(pass.RunTo(layer));
    ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
    for (; next < places.size() && places[next] < first + count; ++next) on_state(next, hidden.row(places[next] - first));
    return pass.Finish({}).status();   // Later rows attend to the keys and values of these rows in all layers.
  });
}

absl::Status TextReader::ReadLogits(absl::Span<const TokenId> tokens, absl::Span<float> logits) {
  CHECK(!tokens.empty()) << "no tokens";
  const int last = static_cast<int>(tokens.size()) - 1;
  return Walk(tokens, last, [&](Pass& pass, int first, int count) -> absl::Status {
    if (first + count <= last) return pass.Finish({}).status();
    const int row = last - first;
    ASSIGN_OR_RETURN(const HiddenRows done, pass.Finish({&row, 1}));
    return core_->runner().Logits(done, {&row, 1}, TensorView<float>(logits.data(), 1, static_cast<int64_t>(logits.size())));
  });
}

}  // namespace tessera
