#include "tessera/apps/answers/requests/answer_file.h"

#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr absl::string_view kBeginning = "{\"id\":";   // The prefix of each answer.

size_t HashOfPrompt(absl::Span<const TokenId> prompt) { return absl::HashOf(prompt); }

absl::StatusOr<JsonValue> Parse(absl::string_view line, const std::string& source) {
  absl::StatusOr<JsonValue> parsed = JsonValue::Parse(line, source, {.max_bytes = LineFile::kLongestLine});
  if (!absl::IsInvalidArgument(parsed.status())) return parsed;
  return absl::InvalidArgumentError(absl::StrCat(source, ": found ", Quoted(line), ", expected an answer, a JSON object"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerFile>> AnswerFile::OfFlag() {
  if (FLAGS_into.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<AnswerFile>> file = Open(FLAGS_into);
  RETURN_IF_ERROR(ForFile("into", file.status()));
  return file;
}

absl::StatusOr<std::unique_ptr<AnswerFile>> AnswerFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(LineFile lines, LineFile::Open(path));
  std::unique_ptr<AnswerFile> file(new AnswerFile(std::move(lines)));
  RETURN_IF_ERROR(file->Read());
  return file;
}

absl::Status AnswerFile::Read() {
  RETURN_IF_ERROR(file_.ForEachLine([this](absl::string_view line, int64_t number) {
    lines_ = number;
    return absl::StripAsciiWhitespace(line).empty() ? absl::OkStatus() : Take(line, number);
  }));
  return file_.rest().empty() ? absl::OkStatus() : TakeRest();
}

absl::Status AnswerFile::Take(absl::string_view line, int64_t number) {
  ASSIGN_OR_RETURN(const JsonValue answer, Parse(line, absl::StrCat(file_.path(), ", line ", number)));
  if (!answer.is_object()) return answer.Error(JsonKindName(answer.kind()), "an answer, a JSON object");
  if (answer.Has("error")) return answer.String("error").status();
  ASSIGN_OR_RETURN(const std::string id, IdTextOf(answer));
  ASSIGN_OR_RETURN(const std::vector<int64_t> tokens, answer.Ints("prompt_tokens"));
  if (!answer.Has("output_text") && !answer.Has("answers")) return answer.Error("neither output_text nor answers", "one of them");
  const std::vector<TokenId> prompt(tokens.begin(), tokens.end());
  const auto [there, is_new] = there_.emplace(id, There{.line = number, .prompt = HashOfPrompt(prompt)});
  if (is_new) return absl::OkStatus();
  return answer.Value("id")->Error(absl::StrCat(id, " again, as in line ", there->second.line), "each id once");
}

absl::Status AnswerFile::TakeRest() {
  const std::string& rest = file_.rest();
  const int64_t number = lines_ + 1;
  if (const absl::Status whole = Parse(rest, absl::StrCat(file_.path(), ", line ", number)).status(); !whole.ok()) {
    if (!absl::StartsWith(rest, kBeginning) && !absl::StartsWith(kBeginning, rest)) return whole;
    note_ = absl::StrCat(file_.path(), ": line ", number, " was not whole, as a run that is killed leaves it: ", rest.size(),
                         rest.size() == 1 ? " byte is" : " bytes are", " cut off\n");
    return file_.CutRest();
  }
  RETURN_IF_ERROR(Take(rest, number));
  return file_.EndRest();   // Only the line break was missing.
}

absl::StatusOr<bool> AnswerFile::Wants(const Request& request, absl::Span<const TokenId> prompt) {
  const std::string id = request.IdText();
  const JsonValue value = *request.body().Value("id");
  if (!asked_.insert(id).second) return value.Error(absl::StrCat(id, " again"), "each id once, since --into skips ids that are there");
  const auto found = there_.find(id);
  if (found == there_.end()) return true;
  if (found->second.prompt == HashOfPrompt(prompt)) return false;
  return value.Error(absl::StrCat(id, " of another prompt in ", file_.path(), ", line ", found->second.line),
                     "an answer to this one, or another id");
}

}  // namespace tessera
