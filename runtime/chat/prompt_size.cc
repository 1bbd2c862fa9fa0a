#include "tessera/runtime/chat/prompt_size.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::Status CheckTokensFit(size_t tokens, int context) {
  if (tokens == 0) return absl::InvalidArgumentError("prompt: found no tokens, expected at least 1");
  if (tokens <= static_cast<size_t>(context)) return absl::OkStatus();
  return LimitedBy("context", absl::ResourceExhaustedError(
                                  absl::StrCat("prompt: found ", tokens, " tokens, expected at most ", context, ", the context")));
}

}  // namespace tessera
