#include "tessera/apps/cli/flags/chat_flags.h"

#include <glog/logging.h>

#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/runtime/draft/draft_model.h"

namespace tessera {

absl::Status CheckConversationFlags() {
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat_template", !FLAGS_chat_template.empty()));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "system", IsGiven("system")));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "template_args", !FLAGS_template_args.empty()));
  RETURN_IF_ERROR(ConversationOptionsOfFlags().status());
  if (FLAGS_chat_template.empty()) return absl::OkStatus();
  return ForField("chat_template", ChatTemplate::ByName(FLAGS_chat_template).status());
}

absl::StatusOr<ConversationOptions> ConversationOptionsOfFlags() {
  ConversationOptions options = {.raw = FLAGS_raw,
                                 .chat_template = FLAGS_chat_template,
                                 .needs_template = FLAGS_chat,
                                 .date = [] { return static_cast<int64_t>(std::time(nullptr)); }};
  if (IsGiven("system")) options.system = FLAGS_system;   // An empty one, too.
  if (FLAGS_template_args.empty()) return options;
  absl::StatusOr<JsonValue> arguments = JsonValue::Parse(FLAGS_template_args, "template_args");
  RETURN_IF_ERROR(ForField("template_args", arguments.status()));
  if (!arguments->is_object()) {
    return WrongUsage("template_args", JsonKindName(arguments->kind()), "an object, such as '{\"enable_thinking\": false}'");
  }
  options.template_args = *std::move(arguments);
  return options;
}

absl::StatusOr<Conversation> ConversationOfFlags(const GgufFile& file, const ChatLimits& limits) {
  RETURN_IF_ERROR(CheckConversationFlags());
  ASSIGN_OR_RETURN(ConversationOptions options, ConversationOptionsOfFlags());
  options.limits = limits;
  absl::StatusOr<Conversation> conversation = Conversation::Create(file, options);
  if (absl::StartsWith(conversation.status().message(), "template_args: ")) return ForField("template_args", conversation.status());
  if (!conversation.ok() && !IsWrongUsage(conversation.status())) {
    return absl::Status(conversation.status().code(),
                        absl::StrCat(conversation.status().message(), " (--chat_template), or go without (--raw)"));
  }
  if (conversation.ok() && conversation->raw() && !FLAGS_raw) {
    WriteMessage(absl::StrCat("The model has no ", MissingChatTemplate(file),
                            ": the prompt is continued as it is (--raw says so without this note).\n"));
  }
  return conversation;
}

absl::StatusOr<std::vector<std::string>> StopStringsOfFlag() {
  if (FLAGS_stop.empty()) return std::vector<std::string>();
  // A text may also begin with a bracket: only a bracket before a quote, or before the closing bracket, begins a list.
  absl::string_view rest = absl::StripAsciiWhitespace(FLAGS_stop);
  const bool bracket = absl::ConsumePrefix(&rest, "[");
  rest = absl::StripAsciiWhitespace(rest);
  const bool is_list = bracket && (absl::StartsWith(rest, "\"") || rest == "]");
  if (!is_list) return std::vector<std::string>{FLAGS_stop};
  const absl::StatusOr<JsonValue> list = JsonValue::Parse(FLAGS_stop, "stop");
  RETURN_IF_ERROR(ForField("stop", list.status()));
  absl::StatusOr<std::vector<std::string>> texts = list->AsStrings();
  RETURN_IF_ERROR(ForField("stop", texts.status()));
  return texts;
}

SpeculationOptions SpeculationOfFlags(const std::shared_ptr<DraftModel>& draft) {
  const absl::StatusOr<std::string> cache = CacheFolder();
  SpeculationOptions options = {.speculate = FLAGS_speculate,
                                .history = FLAGS_history,
                                .history_folder = cache.ok() ? absl::StrCat(*cache, "/history") : "",
                                .history_prompts = FLAGS_history_prompts,
                                .cost_profile = FLAGS_cost_profile};
  if (draft == nullptr) return options;
  options.own_drafters.push_back(draft->AsDrafter());
  options.prune = draft->pruning();
  options.rule = draft->rule();
  return options;
}

absl::StatusOr<Answerer> AnswererOfFlags(Engine& engine, double flash_bytes_per_second, const std::shared_ptr<DraftModel>& draft) {
  WarnOfShortages(engine);
  WarnOfUnreadHistory(SpeculationOfFlags());
  if (draft != nullptr) RETURN_IF_ERROR(draft->LoadPredictor());
  AnswererOptions options = {.speculation = SpeculationOfFlags(draft),
                             .flash_bytes_per_second = flash_bytes_per_second,
                             .asked_nanos = engine.options().clock == nullptr ? StartNanos() : -1};
  ASSIGN_OR_RETURN(options.sampling, SamplingFor(engine.model().gguf()));
  ASSIGN_OR_RETURN(options.stop, StopStringsOfFlag());
  absl::StatusOr<Answerer> answerer = Answerer::Create(engine, options);
  if (answerer.ok()) WarnOfHistory(answerer->speculation());
  return answerer;
}

absl::Status SaveAnswers(const Speculation* speculation) {
  if (speculation == nullptr) return absl::OkStatus();
  const absl::Status saved = speculation->Save();
  WarnOfHistory(speculation);
  return saved;
}

absl::Status FinishAnswers(const Engine& engine, const Speculation* speculation) {
  WarnOfShortages(engine);
  RETURN_IF_ERROR(SaveAnswers(speculation));
  LOG_IF(WARNING, speculation != nullptr && speculation->lacks_costs())
      << "--cost_profile: " << FLAGS_cost_profile << " is not written: no pass was measured";
  return absl::OkStatus();
}

}  // namespace tessera
