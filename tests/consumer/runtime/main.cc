// Loads the model named on the command line, tests/golden/tiny/llama.gguf, and asks which token follows three others. Another engine
// says 244 (llama.logits.jsonl).
#include <algorithm>
#include <iostream>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"

namespace {

using namespace tessera;

absl::StatusOr<int> Next(const char* model) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load({.model_path = model, .compute = {.threads = 2}}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine->NewSession());
  RETURN_IF_ERROR(session->Append({207, 78, 264}));
  const absl::Span<const float> logits = session->logits();
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace

int main(int, char** arguments) {
  const absl::StatusOr<int> next = Next(arguments[1]);
  const absl::Status missing = Next("missing.gguf").status();
  std::cout << "runtime: " << next.status() << ", then comes token " << next.value_or(-1) << "; " << missing.message() << "\n";
  return next.value_or(-1) == 244 && missing.code() == absl::StatusCode::kNotFound ? 0 : 1;
}
