#include "tessera/apps/cli/chat_flags.h"

#include <glog/logging.h>

#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::Status CheckConversationFlags() {
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat_template", !FLAGS_chat_template.empty()));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "system", !FLAGS_system.empty()));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "template_args", !FLAGS_template_args.empty()));
  RETURN_IF_ERROR(ConversationOptionsOfFlags().status());
  if (FLAGS_chat_template.empty()) return absl::OkStatus();
  return ForField("chat_template", ChatTemplate::ByName(FLAGS_chat_template).status());
}

absl::StatusOr<ConversationOptions> ConversationOptionsOfFlags() {
  ConversationOptions options = {.raw = FLAGS_raw,
                                 .chat_template = FLAGS_chat_template,
                                 .needs_template = FLAGS_chat,
                                 .system = FLAGS_system,
                                 .unix_seconds = static_cast<int64_t>(std::time(nullptr))};
  if (FLAGS_template_args.empty()) return options;
  absl::StatusOr<JsonValue> arguments = JsonValue::Parse(FLAGS_template_args, "template_args");
  RETURN_IF_ERROR(ForField("template_args", arguments.status()));
  if (!arguments->is_object()) {
    return WrongUsage("template_args", JsonKindName(arguments->kind()), "an object, such as '{\"enable_thinking\": false}'");
  }
  options.template_args = *std::move(arguments);
  return options;
}

absl::StatusOr<Conversation> ConversationOfFlags(const GgufFile& file) {
  RETURN_IF_ERROR(CheckConversationFlags());
  ASSIGN_OR_RETURN(const ConversationOptions options, ConversationOptionsOfFlags());
  absl::StatusOr<Conversation> conversation = Conversation::Create(file, options);
  if (!conversation.ok() && !IsWrongUsage(conversation.status())) {
    return absl::Status(conversation.status().code(),
                        absl::StrCat(conversation.status().message(), " (--chat_template), or go without (--raw)"));
  }
  if (conversation.ok() && conversation->raw() && !FLAGS_raw) {
    WriteError("The model has no chat template: the prompt is continued as it is (--raw says so without this note).\n");
  }
  return conversation;
}

SamplingOptions SamplingOfFlags() {
  return {.temperature = static_cast<float>(FLAGS_temperature),
          .top_k = FLAGS_top_k,
          .top_p = static_cast<float>(FLAGS_top_p),
          .min_p = static_cast<float>(FLAGS_min_p),
          .repetition_penalty = static_cast<float>(FLAGS_repetition_penalty),
          .penalty_window = FLAGS_penalty_window,
          .seed = FLAGS_seed};
}

absl::StatusOr<std::vector<std::string>> StopStringsOfFlag() {
  if (FLAGS_stop.empty()) return std::vector<std::string>();
  absl::string_view list_start = FLAGS_stop;  // A text may also begin with a bracket; only a bracket before a quote begins a list.
  const bool is_list = absl::ConsumePrefix(&list_start, "[") && absl::StartsWith(absl::StripLeadingAsciiWhitespace(list_start), "\"");
  if (!is_list) return std::vector<std::string>{FLAGS_stop};
  const absl::StatusOr<JsonValue> list = JsonValue::Parse(FLAGS_stop, "stop");
  RETURN_IF_ERROR(ForField("stop", list.status()));
  absl::StatusOr<std::vector<std::string>> texts = list->AsStrings();
  RETURN_IF_ERROR(ForField("stop", texts.status()));
  return texts;
}

SpeculationOptions SpeculationOfFlags() {
  const absl::StatusOr<std::string> cache = CacheFolder();
  return {.speculate = FLAGS_speculate,
          .history = FLAGS_history,
          .history_folder = cache.ok() ? absl::StrCat(*cache, "/history") : "",
          .history_prompts = FLAGS_history_prompts,
          .cost_profile = FLAGS_cost_profile};
}

absl::StatusOr<Answerer> AnswererOfFlags(Engine& engine, double flash_bytes_per_second) {
  WarnOfShortages(engine);
  AnswererOptions options = {.sampling = SamplingOfFlags(),
                             .speculation = SpeculationOfFlags(),
                             .flash_bytes_per_second = flash_bytes_per_second,
                             .asked_nanos = StartNanos()};
  ASSIGN_OR_RETURN(options.stop, StopStringsOfFlag());
  absl::StatusOr<Answerer> answerer = Answerer::Create(engine, options);
  if (answerer.ok()) WarnOfHistory(answerer->speculation());
  return answerer;
}

absl::Status SaveAnswers(const Answerer& answerer) {
  const absl::Status saved = answerer.Save();
  WarnOfHistory(answerer.speculation());
  return saved;
}

absl::Status FinishAnswers(const Engine& engine, const Answerer& answerer) {
  WarnOfShortages(engine);
  RETURN_IF_ERROR(SaveAnswers(answerer));
  const Speculation* const speculation = answerer.speculation();
  LOG_IF(WARNING, speculation != nullptr && speculation->lacks_costs())
      << "--cost_profile: " << FLAGS_cost_profile << " is not written: no pass was measured";
  return absl::OkStatus();
}

}  // namespace tessera
