// Shows the tokens of a text. Reads the model's vocabulary, not its weights.
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/show/quoted_piece.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/runtime/chat/request.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_tokenize",
          .summary = "Turns text into the token ids of a model, and shows the piece of text of each token. BOS is added only to a dialogue "
                     "(--chat), and only if the model asks for it.",
          .examples = {"tessera_tokenize --prompt \"Hello, world!\"", "tessera_tokenize --special --prompt \"<|im_start|>user\"",
                       "tessera_tokenize --chat --show_prompt --prompt \"Hello\"",
                       "tessera_tokenize --jsonl < texts   # {\"id\": \"a\", \"text\": \"Hello\", \"special\": false}, or messages"},
          .groups = {{"Text", {"prompt", "prompt_file", "special", "chat", "system", "chat_template", "template_args"}},
                     {"Model", {"model"}},
                     {"Output", {"show_prompt", "json", "jsonl"}}}};
}

std::string TokenTable(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  Table table({{"id", Table::Align::kRight}, {"piece"}});
  for (TokenId token : tokens) table.AddRow({absl::StrCat(token), QuotedPiece(tokenizer.Piece(token, /*render_special=*/true))});
  return table.ToString();
}

std::string TokenJson(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens, const std::string* prompt) {
  JsonWriter json;
  json.BeginObject();
  if (prompt != nullptr) json.Key("prompt").String(*prompt);
  WriteTokens(json.Key("tokens"), tokens);
  json.Key("pieces").BeginArray();
  for (TokenId token : tokens) json.String(tokenizer.Piece(token, /*render_special=*/true));
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

absl::Status AnswerRequests(const GgufFile& file, const Tokenizer& tokenizer, LineReader& lines) {
  ASSIGN_OR_RETURN(const ConversationOptions chat, ConversationOptionsOfFlags());
  return ForEachRequest(lines, RequestLimits(), [&](const Request& request) -> absl::StatusOr<std::string> {
    const JsonValue& body = request.body();
    if (body.Has("tokens")) return body.Error("tokens", "text or messages to make them of");
    RETURN_IF_ERROR(CheckPrompt(body));
    JsonWriter answer = BeginAnswer(request);
    if (body.Has("messages")) {
      ASSIGN_OR_RETURN(const Conversation conversation, ConversationOf(body, file, chat));
      ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, conversation.Tokens(tokenizer));
      ASSIGN_OR_RETURN(const std::string text, conversation.Text(tokenizer));
      WriteTokens(answer.Key("tokens"), tokens);
      if (FLAGS_show_prompt) answer.Key("prompt").String(text);
      return WholeAnswer(std::move(answer));
    }
    if (FLAGS_show_prompt) return body.Error("text", "messages, the text of which --show_prompt shows");
    ASSIGN_OR_RETURN(const std::string text, body.String("text"));
    ASSIGN_OR_RETURN(const bool special, body.BoolOr("special", FLAGS_special));
    WriteTokens(answer.Key("tokens"), tokenizer.Encode(text, {.parse_special = special}));
    return WholeAnswer(std::move(answer));
  });
}

absl::Status ShowChat(const GgufFile& file, const Tokenizer& tokenizer, const std::string& prompt) {
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(file));
  conversation.AddUser(prompt);
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, conversation.Tokens(tokenizer));
  ASSIGN_OR_RETURN(const std::string text, conversation.Text(tokenizer));
  if (FLAGS_json) return WriteOutput(TokenJson(tokenizer, tokens, FLAGS_show_prompt ? &text : nullptr));
  return WriteOutput(FLAGS_show_prompt ? text : TokenTable(tokenizer, tokens));
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "json", FLAGS_json));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "prompt", PromptGiven()));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("chat", FLAGS_chat, "special", FLAGS_special));
  RETURN_IF_ERROR(CheckConversationFlags());
  const bool dialogue = FLAGS_chat || FLAGS_jsonl;
  if (FLAGS_show_prompt && !dialogue) return WrongUsage("show_prompt", "without a dialogue", "--chat or --jsonl beside it");
  if (!FLAGS_chat && IsGiven("system")) return WrongUsage("system", "without a dialogue", "--chat beside it");
  if (!dialogue && !FLAGS_template_args.empty()) return WrongUsage("template_args", "without a dialogue", "--chat or --jsonl beside it");
  if (!dialogue && !FLAGS_chat_template.empty()) return WrongUsage("chat_template", "without a dialogue", "--chat or --jsonl beside it");
  return absl::OkStatus();
}

absl::Status RunWith(const GgufFile& file, const Tokenizer& tokenizer, LineReader& lines) {
  if (FLAGS_jsonl) return AnswerRequests(file, tokenizer, lines);
  ASSIGN_OR_RETURN(const std::string text, ReadPrompt());
  if (FLAGS_chat) return ShowChat(file, tokenizer, text);
  const std::vector<TokenId> tokens = tokenizer.Encode(text, {.parse_special = FLAGS_special});
  return WriteOutput(FLAGS_json ? TokenJson(tokenizer, tokens, nullptr) : TokenTable(tokenizer, tokens));
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  LineReader lines;
  if (FLAGS_jsonl) RETURN_IF_ERROR(lines.EditLines());
  ASSIGN_OR_RETURN(const std::string path, ModelPath());
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  RETURN_IF_ERROR(CheckHasVocabulary(file->gguf()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, ReadTokenizer(file->gguf()));
  WarnOfVocabulary(*tokenizer);
  const absl::Status status = RunWith(file->gguf(), *tokenizer, lines);
  WarnOfLostBytes(*tokenizer);
  return status;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
