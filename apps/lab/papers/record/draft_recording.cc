#include "tessera/apps/lab/papers/record/draft_recording.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/record/recording_fields.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/named_text.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kMostToken = (int64_t{1} << 24) - 1, kMostCandidates = 64;
constexpr double kMostSum = 1.01;    // Probabilities are estimates, and rounded.
constexpr int kDigits = 3;           // The digits of a probability in files.
constexpr const char* kOffPathRules[] = {kOffPathRule, "law of the same position"};   // Older recordings have the second.

// Returns the built-in texts; none if the folder has no recordings.
absl::Span<const NamedText> BuiltInDrafts() {
  static const auto* const texts = new std::vector<NamedText>{
#include "tessera/apps/lab/papers/record/drafts.inc"
  };
  return *texts;
}

absl::StatusOr<double> ShareField(const JsonValue& line, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
  ASSIGN_OR_RETURN(const double share, value.AsDouble());
  if (share >= 0 && share <= 1) return share;
  return value.Error(absl::StrCat(share), "a share, 0 to 1");
}

absl::StatusOr<DraftRecording> HeaderOf(const JsonValue& line) {
  RETURN_IF_ERROR(CheckKeys(line, {"command", "model", "model_sha256", "draft", "draft_sha256", "most_tokens", "candidates", "off_path",
                                   "wrong_nodes", "wrong_said", "wrong_by_rule"}));
  DraftRecording recording;
  ASSIGN_OR_RETURN(recording.command, PrintableField(line, "command"));
  ASSIGN_OR_RETURN(recording.model, PrintableField(line, "model"));
  ASSIGN_OR_RETURN(recording.model_sha256, HashField(line, "model_sha256"));
  ASSIGN_OR_RETURN(recording.draft, PrintableField(line, "draft"));
  ASSIGN_OR_RETURN(recording.draft_sha256, HashField(line, "draft_sha256"));
  ASSIGN_OR_RETURN(recording.most_tokens, CountField(line, "most_tokens", kMostRecordedTokens));
  ASSIGN_OR_RETURN(recording.candidates, CountField(line, "candidates", kMostCandidates));
  RETURN_IF_ERROR(WordField(line, "off_path", kOffPathRules).status());
  ASSIGN_OR_RETURN(recording.wrong.nodes, line.Int("wrong_nodes", 0, int64_t{1} << 40));
  ASSIGN_OR_RETURN(recording.wrong.said, ShareField(line, "wrong_said"));
  ASSIGN_OR_RETURN(recording.wrong.by_rule, ShareField(line, "wrong_by_rule"));
  return recording;
}

// Reads [token, probability, token, probability, ...], the likeliest first.
absl::StatusOr<TopTokens> SaidOf(const JsonValue& list, int candidates) {
  if (!list.is_array()) return list.Error(JsonKindName(list.kind()), "an array");
  if (list.size() % 2 != 0 || list.size() > 2 * candidates) {
    return list.Error(absl::StrCat(list.size(), " numbers"), absl::StrCat("at most ", candidates, " tokens, each with a probability"));
  }
  TopTokens said;
  double sum = 0;
  for (int64_t i = 0; i < list.size(); i += 2) {
    ASSIGN_OR_RETURN(const int64_t token, list[i].AsInt(0, kMostToken));
    ASSIGN_OR_RETURN(const double number, list[i + 1].AsDouble());
    const float probability = static_cast<float>(number), most = said.empty() ? 1 : said.back().probability;
    if (!(probability > 0 && probability <= most)) {
      return list[i + 1].Error(absl::StrCat(probability), absl::StrCat("a probability above 0 and at most ", most, ", as the one before"));
    }
    const auto same = [&](const TopToken& other) { return other.token == token; };
    if (std::any_of(said.begin(), said.end(), same)) return list[i].Error(absl::StrCat("token ", token, " twice"), "it once");
    said.push_back({static_cast<TokenId>(token), probability});
    sum += probability;
  }
  if (sum > kMostSum) return list.Error(absl::StrCat("probabilities of ", sum, " together"), "at most 1");
  return said;
}

absl::StatusOr<std::vector<TokenId>> TokensOf(const JsonValue& line, int most_tokens) {
  ASSIGN_OR_RETURN(const JsonValue list, line.Array("tokens"));
  if (list.size() < 1 || list.size() > most_tokens) {
    return list.Error(absl::StrCat(list.size(), " tokens"), absl::StrCat("1 to ", most_tokens));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, list.AsInts(0, kMostToken));
  std::vector<TokenId> tokens;
  for (const int64_t number : numbers) tokens.push_back(static_cast<TokenId>(number));
  return tokens;
}

absl::StatusOr<DraftedText> DraftedTextOf(const JsonValue& line, const DraftRecording& recording) {
  RETURN_IF_ERROR(CheckKeys(line, {"set", "id", "prompt_sha256", "prompt_tokens", "tokens", "said", "retrieval"}));
  DraftedText text;
  ASSIGN_OR_RETURN(text.set, WordField(line, "set", kLeverSets));
  ASSIGN_OR_RETURN(text.id, PrintableField(line, "id"));
  ASSIGN_OR_RETURN(text.prompt_sha256, HashField(line, "prompt_sha256"));
  ASSIGN_OR_RETURN(text.prompt_tokens, CountField(line, "prompt_tokens", kMostRecordedPrompt));
  ASSIGN_OR_RETURN(text.tokens, TokensOf(line, recording.most_tokens));
  const int tokens = static_cast<int>(text.tokens.size());
  ASSIGN_OR_RETURN(const JsonValue said, line.Array("said"));
  if (said.size() != tokens - 1) {
    return said.Error(absl::StrCat(said.size(), " answers"), absl::StrCat(tokens - 1, ": one after each token but the last"));
  }
  for (int64_t i = 0; i < said.size(); ++i) {
    ASSIGN_OR_RETURN(text.said.emplace_back(), SaidOf(said[i], recording.candidates));
  }
  ASSIGN_OR_RETURN(text.retrieval, PassesField(line, "retrieval", tokens, kMostRecordedRows));
  return text;
}

std::string HeaderLine(const DraftRecording& recording) {
  JsonWriter json;
  json.BeginObject().Key("command").String(recording.command).Key("model").String(recording.model);
  json.Key("model_sha256").String(recording.model_sha256).Key("draft").String(recording.draft);
  json.Key("draft_sha256").String(recording.draft_sha256).Key("most_tokens").Int(recording.most_tokens);
  json.Key("candidates").Int(recording.candidates).Key("off_path").String(kOffPathRule);
  json.Key("wrong_nodes").Int(recording.wrong.nodes).Key("wrong_said").Double(recording.wrong.said, kDigits);
  json.Key("wrong_by_rule").Double(recording.wrong.by_rule, kDigits).EndObject();
  return std::move(json).Take();
}

std::string TextLine(const DraftedText& text) {
  JsonWriter json;
  json.BeginObject().Key("set").String(text.set).Key("id").String(text.id).Key("prompt_sha256").String(text.prompt_sha256);
  json.Key("prompt_tokens").Int(text.prompt_tokens).Key("tokens").BeginArray();
  for (const TokenId token : text.tokens) json.Int(token);
  json.EndArray().Key("said").BeginArray();
  for (const TopTokens& said : text.said) {
    json.BeginArray();
    for (const TopToken& candidate : said) json.Int(candidate.token).Double(candidate.probability, kDigits);
    json.EndArray();
  }
  json.EndArray().Key("retrieval").BeginArray();
  for (const RecordedPass& pass : text.retrieval) json.BeginArray().Int(pass.drafted).Int(pass.accepted).EndArray();
  json.EndArray().EndObject();
  return std::move(json).Take();
}

}  // namespace

bool DraftRecording::Has(absl::string_view set) const {
  return std::any_of(texts.begin(), texts.end(), [&](const DraftedText& text) { return text.set == set; });
}

double DraftRecording::HitShare(absl::string_view set) const {
  int64_t hits = 0, all = 0;
  for (const DraftedText& text : texts) {
    if (!set.empty() && text.set != set) continue;
    all += static_cast<int64_t>(text.said.size());
    for (size_t i = 0; i < text.said.size(); ++i) hits += !text.said[i].empty() && text.said[i][0].token == text.tokens[i + 1] ? 1 : 0;
  }
  return all == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(all);
}

absl::StatusOr<DraftRecording> ParseDraftRecording(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> lines, RecordingLines(text, source));
  ASSIGN_OR_RETURN(DraftRecording recording, HeaderOf(lines[0]));
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(DraftedText drafted, DraftedTextOf(lines[i], recording));
    recording.texts.push_back(std::move(drafted));
  }
  return recording;
}

absl::StatusOr<DraftRecording> ReadDraftRecording(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kMostRecordingBytes));
  return ParseDraftRecording(text, path);
}

std::string DraftRecordingText(const DraftRecording& recording) {
  std::string text = absl::StrCat(HeaderLine(recording), "\n");
  for (const DraftedText& each : recording.texts) absl::StrAppend(&text, TextLine(each), "\n");
  return text;
}

absl::StatusOr<DraftRecording> BuiltInDraftRecording(absl::string_view name) {
  ASSIGN_OR_RETURN(const NamedText* const found, BuiltInNamed(BuiltInDrafts(), name));
  return ParseDraftRecording(found->text, absl::StrCat(found->name, ".jsonl"));
}

}  // namespace tessera
