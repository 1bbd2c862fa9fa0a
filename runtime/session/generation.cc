#include "tessera/runtime/session/generation.h"

namespace tessera {

absl::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEndToken: return "end of text";
    case FinishReason::kStopString: return "stop string";
    case FinishReason::kLength: return "length";
    case FinishReason::kContextFull: return "context full";
    case FinishReason::kCancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace tessera
