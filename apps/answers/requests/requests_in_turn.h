// Answers requests one after another (answer_requests.h chooses), and declares helpers that parallel answers need, too.
//
//   ASSIGN_OR_RETURN(const RequestDefaults defaults, RequestDefaults::Of(engine));
//   return AnswerInTurn(engine, opened.flash_bytes_per_second, lines, adapters, draft, into.get());
//
// Threads: the main thread.
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

// The values of flags that stand for values that a request does not set.
struct RequestDefaults {
  ConversationOptions chat = {};
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};

  static absl::StatusOr<RequestDefaults> Of(const Engine& engine);
};

double SecondsSinceNanos(int64_t nanos);   // On the real clock.

// Returns the line of a whole answer.
std::string AnswerOf(const Request& request, const TextRequest& asked, const std::vector<TimedAnswer>& answers);

// Answers the requests as AnswerRequests does without --parallel. REQUIRES: the weights are loaded.
absl::Status AnswerInTurn(Engine& engine, double flash, LineReader& lines, const Adapters& adapters,
                          const std::shared_ptr<DraftModel>& draft, AnswerFile* into);

}  // namespace tessera
