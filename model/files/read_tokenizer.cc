#include "tessera/model/files/read_tokenizer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/key_rules.h"

namespace tessera {
namespace {

// Fills a fact with the file's value for its key; `read` takes the value if it has the right type.
template <typename T>
void Fill(const GgufFile& file, absl::StatusOr<T> (GgufFile::*read)(absl::string_view key) const, FileFact<T>& fact) {
  fact.place.file = file.path();
  const GgufValue* const value = file.Find(fact.place.key);
  if (value == nullptr) return;
  fact.place.offset = value->offset;
  absl::StatusOr<T> found = (file.*read)(fact.place.key);
  if (found.ok()) fact.value = *std::move(found);
  else fact.problem = found.status();
}

constexpr char kTemplate[] = "tokenizer.chat_template", kDefault[] = "tokenizer.chat_template.default",
               kToolUse[] = "tokenizer.chat_template.tool_use";

absl::string_view TemplateKey(const GgufFile& file, bool with_tools) {
  if (with_tools && file.Find(kToolUse) != nullptr) return kToolUse;
  return file.Find(kTemplate) == nullptr && file.Find(kDefault) != nullptr ? kDefault : kTemplate;
}

// Lists templates of other names, for messages: " for dialogues (only "rag")".
std::string OnlyOthers(const GgufFile& file) {
  std::vector<std::string> names;
  for (const auto& [key, value] : file.metadata()) {
    absl::string_view name = key;
    if (absl::ConsumePrefix(&name, kTemplate) && absl::ConsumePrefix(&name, ".")) names.push_back(Quoted(name));
  }
  return names.empty() ? "" : absl::StrCat(" for dialogues (only ", absl::StrJoin(names, ", "), ")");
}

}  // namespace

TokenizerFacts TokenizerFactsOf(const GgufFile& file) {
  TokenizerFacts facts;
  Fill(file, &GgufFile::String, facts.model);
  Fill(file, &GgufFile::String, facts.pre_tokenizer);
  Fill(file, &GgufFile::Strings, facts.tokens);
  Fill(file, &GgufFile::Ints, facts.types);
  Fill(file, &GgufFile::Floats, facts.scores);
  Fill(file, &GgufFile::Strings, facts.merges);
  for (FileFact<uint64_t>* const role : {&facts.bos, &facts.eos, &facts.unknown}) Fill(file, &GgufFile::Uint, *role);
  for (FileFact<uint64_t>& end : facts.ends) Fill(file, &GgufFile::Uint, end);
  Fill(file, &GgufFile::Ints, facts.more_ends);
  facts.chat_template.place.key = TemplateKey(file, /*with_tools=*/false);
  Fill(file, &GgufFile::String, facts.chat_template);
  Fill(file, &GgufFile::Bool, facts.add_bos);
  Fill(file, &GgufFile::Bool, facts.add_space_prefix);
  return facts;
}

ChatTemplateFacts ChatTemplateFactsOf(const GgufFile& file, bool with_tools) {
  ChatTemplateFacts facts;
  facts.source.place.key = TemplateKey(file, with_tools);
  Fill(file, &GgufFile::String, facts.source);
  if (!HasChatTemplate(file, with_tools)) facts.only_others = OnlyOthers(file);
  return facts;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const GgufFile& file) {
  RETURN_IF_ERROR(JudgeKeys(file, "tokenizer.", {TokenizerKeys()}));
  return Tokenizer::Create(TokenizerFactsOf(file));
}

absl::Status CheckHasVocabulary(const GgufFile& file) {
  const absl::StatusOr<absl::string_view> type = file.StringOr("general.type", "model");
  return type.ok() && *type == "vocab" ? absl::OkStatus() : JudgeKind(file);
}

absl::StatusOr<ChatTemplate> ReadChatTemplate(const GgufFile& file, bool with_tools) {
  return ChatTemplate::FromSource(ChatTemplateFactsOf(file, with_tools));
}

bool HasChatTemplate(const GgufFile& file, bool with_tools) { return file.Find(TemplateKey(file, with_tools)) != nullptr; }

std::string MissingChatTemplate(const GgufFile& file) { return absl::StrCat("chat template", OnlyOthers(file)); }

}  // namespace tessera
