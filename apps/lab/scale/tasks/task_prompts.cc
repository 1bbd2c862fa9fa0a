#include "tessera/apps/lab/scale/tasks/task_prompts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {
namespace {

// Returns a conversation in the model's template, with one date for all runs: a run that is continued on another day has the same prompts.
absl::StatusOr<Conversation> NewConversation(const Engine& engine) {
  constexpr int64_t kDate = 1'735'689'600;   // 2025 begins.
  ASSIGN_OR_RETURN(ConversationOptions options, ConversationOptionsOfFlags());
  options.date = [] { return kDate; };
  ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine.model().gguf(), options));
  if (conversation.raw() && !FLAGS_raw) {
    WriteError("The model has no chat template: problems are given to it as they are (--raw says so without this note).\n");
  }
  return conversation;
}

}  // namespace

absl::StatusOr<TaskPrompts> PromptsOfTask(const Engine& engine, const Task& task, int most) {
  const absl::Span<const Problem> asked = absl::MakeConstSpan(task.problems).first(
      std::min(task.problems.size(), static_cast<size_t>(most)));
  TaskPrompts prompts;
  if (task.kind == TaskKind::kCompletion) {
    for (const Problem& problem : asked) {
      prompts.problems.push_back({.id = problem.id, .prompt = engine.tokenizer().Encode(problem.prompt, {.add_bos = true})});
    }
    return prompts;
  }
  ASSIGN_OR_RETURN(Conversation conversation, NewConversation(engine));
  prompts.form = std::string(conversation.form());
  for (const Problem& problem : asked) {
    conversation.Reset();
    conversation.AddUser(problem.prompt);
    ASSIGN_OR_RETURN(std::vector<TokenId> tokens, conversation.Tokens(engine.tokenizer()));
    prompts.problems.push_back({.id = problem.id, .prompt = std::move(tokens)});
  }
  return prompts;
}

std::string SampleSettings(const Task& task, const Engine& engine, const std::string& model, const SampleOptions& options,
                           absl::string_view form) {
  const SamplingOptions& sampling = options.sampling;
  const std::string problems = HashOfQuestions(task, static_cast<int64_t>(task.problems.size()));
  return absl::StrCat(task.name, ", problems sha256 ", problems, ", ", model, ", ", form, ", context ", engine.context(), ", at most ",
                      options.max_tokens, " tokens, temperature ", sampling.temperature, ", top_k ", sampling.top_k, ", top_p ",
                      sampling.top_p, ", min_p ", sampling.min_p, ", repetition_penalty ", sampling.repetition_penalty, " over ",
                      sampling.penalty_window, ", seed ", sampling.seed);
}

}  // namespace tessera
