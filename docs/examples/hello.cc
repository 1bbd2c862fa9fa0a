// Asks a model one question and shows the answer as it is written: hello MODEL.gguf [QUESTION]
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"

namespace {

using namespace tessera;

// Returns the question in the form of the model's chat template, as tokens.
absl::StatusOr<std::vector<TokenId>> PromptOf(const Engine& engine, const std::string& question) {
  ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine.model().gguf(), {}));
  conversation.AddUser(question);
  return conversation.Tokens(engine.tokenizer());
}

void Show(absl::string_view text) { std::cout << text << std::flush; }

absl::Status Answer(const std::string& model, const std::string& question) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load({.model_path = model}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine->NewSession());
  ASSIGN_OR_RETURN(const std::vector<TokenId> prompt, PromptOf(*engine, question));
  RETURN_IF_ERROR(session->Append(prompt));
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  return Generate(*session, sampler, {.max_tokens = 64, .starts_text = true, .on_text = Show}).status();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::cerr << "usage: hello MODEL.gguf [QUESTION]\n";
    return 2;
  }
  const absl::Status status = Answer(arguments[1], count == 3 ? arguments[2] : "Why is the sky blue?");
  if (!status.ok()) {
    std::cerr << status.message() << "\n";
    return 1;
  }
  std::cout << std::endl;
  return std::cout ? 0 : 1;
}
