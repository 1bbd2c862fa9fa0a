// Answers requests one after another (answer_requests.h chooses), and has what requests that are answered at once need, too.
//
//   ASSIGN_OR_RETURN(const RequestDefaults defaults, RequestDefaults::Of(engine));
//   return AnswerInTurn(engine, opened.flash_bytes_per_second, lines, adapters, draft, into.get());
//
// Threads: the main one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/answers/requests/answer_file.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// The flags that stand for what requests do not say themselves.
struct RequestDefaults {
  ConversationOptions chat = {};
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};

  static absl::StatusOr<RequestDefaults> Of(const Engine& engine);
};

double SecondsSinceNanos(int64_t nanos);   // On the real clock.

// The line of an answer that is whole.
std::string AnswerOf(const Request& request, const TextRequest& asked, const std::vector<TimedAnswer>& answers);

// As AnswerRequests. REQUIRES: the weights are loaded.
absl::Status AnswerInTurn(Engine& engine, double flash, LineReader& lines, const Adapters& adapters,
                          const std::shared_ptr<DraftModel>& draft, AnswerFile* into);

}  // namespace tessera
