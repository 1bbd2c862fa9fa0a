#include "tessera/runtime/scale/read_confidence.h"

#include <algorithm>
#include <cstddef>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/prefix_index.h"

namespace tessera {

absl::StatusOr<TextConfidence> ReadConfidence(Session& session, absl::Span<const TokenId> prompt, absl::Span<const TokenId> tokens) {
  if (prompt.empty()) return absl::InvalidArgumentError("text to be read: found a prompt without tokens, expected at least one");
  TextConfidence confidence;
  if (tokens.empty()) return confidence;
  // The prompt's last token is always computed, since its logits belong to the first token of the text.
  const int known = std::min(CommonPrefix(session.tokens(), prompt), static_cast<int>(prompt.size()) - 1);
  session.Truncate(known);
  RETURN_IF_ERROR(session.Append(prompt.subspan(static_cast<size_t>(known))));
  confidence.Add(tokens[0], session.logits());
  // Logits after the last token are not needed.
  RETURN_IF_ERROR(session.AppendEach(tokens.first(tokens.size() - 1), [&](int index, absl::Span<const float> logits) {
    confidence.Add(tokens[static_cast<size_t>(index) + 1], logits);
    return absl::OkStatus();
  }));
  return confidence;
}

}  // namespace tessera
