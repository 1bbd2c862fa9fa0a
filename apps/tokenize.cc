// Shows the tokens of a text. Reads the model's vocabulary, not its weights.
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/input.h"
#include "tessera/apps/cli/jsonl.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/read_tokenizer.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_tokenize",
          .summary = "Turns text into the token ids of a model, and shows the piece of text each stands for. BOS is not added.",
          .examples = {"tessera_tokenize --prompt \"Hello, world!\"", "tessera_tokenize --special --prompt \"<|im_start|>user\"",
                       "tessera_tokenize --jsonl < texts   # {\"id\": \"a\", \"text\": \"Hello\", \"special\": false}"},
          .groups = {{"Text", {"prompt", "prompt_file", "special"}}, {"Model", {"model"}}, {"Output", {"json", "jsonl"}}}};
}

// A piece for a table: one line, quoted. A piece that is a part of a character is shown as U+FFFD.
std::string Quoted(const std::string& piece) {
  JsonWriter json;
  json.String(piece);
  return json.text();
}

std::string TokenTable(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  Table table({{"id", Table::Align::kRight}, {"piece"}});
  for (TokenId token : tokens) table.AddRow({absl::StrCat(token), Quoted(tokenizer.Piece(token, /*render_special=*/true))});
  return table.ToString();
}

std::string TokenJson(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  JsonWriter json;
  json.BeginObject();
  WriteTokens(json.Key("tokens"), tokens);
  json.Key("pieces").BeginArray();
  for (TokenId token : tokens) json.String(tokenizer.Piece(token, /*render_special=*/true));
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

absl::Status AnswerRequests(const Tokenizer& tokenizer) {
  return ForEachRequest([&](const Request& request) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string text, request.body().String("text"));
    ASSIGN_OR_RETURN(const bool special, request.body().BoolOr("special", FLAGS_special));
    JsonWriter answer = BeginAnswer(request);
    WriteTokens(answer.Key("tokens"), tokenizer.Encode(text, {.parse_special = special}));
    return WriteAnswer(std::move(answer));
  });
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "json", FLAGS_json));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "prompt", PromptGiven()));
  ASSIGN_OR_RETURN(const std::string path, ModelPath());
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, ReadTokenizer(file->gguf()));
  WarnOfVocabulary(*tokenizer);
  if (FLAGS_jsonl) return AnswerRequests(*tokenizer);
  ASSIGN_OR_RETURN(const std::string text, ReadPrompt());
  const std::vector<TokenId> tokens = tokenizer->Encode(text, {.parse_special = FLAGS_special});
  return WriteOutput(FLAGS_json ? TokenJson(*tokenizer, tokens) : TokenTable(*tokenizer, tokens));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
