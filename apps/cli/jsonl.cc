#include "tessera/apps/cli/jsonl.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/input.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/prompt_size.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status CheckId(const JsonValue& request) {
  ASSIGN_OR_RETURN(const JsonValue id, request.Value("id"));
  if (id.is_string() || id.kind() == JsonValue::Kind::kInt || id.kind() == JsonValue::Kind::kUint) return absl::OkStatus();
  return id.Error(JsonKindName(id.kind()), "a string or a whole number");
}

}  // namespace

absl::Status ForEachRequest(const std::function<absl::Status(const JsonValue& request)>& answer) {
  const JsonValue::Limits limits = {.max_bytes = kLargestPrompt};  // A line that can be read can be parsed.
  LineReader reader;
  std::string line;
  for (int64_t number = 1;; ++number) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) return absl::OkStatus();
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::string source = absl::StrCat("standard input, line ", number);
    ASSIGN_OR_RETURN(const JsonValue request, JsonValue::Parse(line, source, limits));
    RETURN_IF_ERROR(CheckId(request));
    const absl::Status status = answer(request);
    if (status.ok() || absl::IsCancelled(status) || absl::StartsWith(status.message(), source)) {
      RETURN_IF_ERROR(status);
    } else {
      return absl::Status(status.code(), absl::StrCat(source, ": ", status.message()));
    }
  }
}

absl::StatusOr<std::vector<TokenId>> RequestTokens(const JsonValue& request, const Engine& engine) {
  if (request.Has("text") == request.Has("tokens")) {
    return request.Error(request.Has("text") ? "text and tokens" : "neither text nor tokens", "one of them");
  }
  std::vector<TokenId> tokens;
  if (request.Has("text")) {
    ASSIGN_OR_RETURN(const std::string text, request.String("text"));
    ASSIGN_OR_RETURN(const bool special, request.BoolOr("special", false));
    RETURN_IF_ERROR(CheckBytesFit(text, engine.tokenizer(), engine.context()));
    tokens = engine.tokenizer().Encode(text, {.parse_special = special, .add_bos = true});
  } else {
    ASSIGN_OR_RETURN(const JsonValue list, request.Value("tokens"));
    ASSIGN_OR_RETURN(const std::vector<int64_t> ids, list.AsInts(0, engine.config().vocabulary - 1));
    tokens.assign(ids.begin(), ids.end());
  }
  if (tokens.empty()) return request.Error("no tokens", "at least one");
  return tokens;
}

JsonWriter BeginAnswer(const JsonValue& request) {
  JsonWriter answer;
  answer.BeginObject().Key("id");
  const JsonValue id = *request.Value("id");  // ForEachRequest has checked it.
  if (id.is_string()) {
    answer.String(*id.AsString());
  } else if (id.kind() == JsonValue::Kind::kUint) {  // Above 2^63.
    answer.Uint(*id.AsUint());
  } else {
    answer.Int(*id.AsInt());
  }
  return answer;
}

void WriteTokens(JsonWriter& json, absl::Span<const TokenId> tokens) {
  json.BeginArray();
  for (TokenId token : tokens) json.Int(token);
  json.EndArray();
}

absl::Status WriteAnswer(JsonWriter answer) {
  answer.EndObject();
  return WriteOutput(std::move(answer).Take() + "\n");
}

}  // namespace tessera
