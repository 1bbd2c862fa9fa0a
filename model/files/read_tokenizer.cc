#include "tessera/model/files/read_tokenizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
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

// Some files list all tokens that end a text. The tokenizer knows them by other keys and by their texts; none may be left over.
absl::Status CheckEnds(const GgufFile& file, const Tokenizer& tokenizer) {
  constexpr char kKey[] = "tokenizer.ggml.eos_token_ids";
  if (file.Find(kKey) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids, file.Ints(kKey));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < tokenizer.vocabulary_size() && tokenizer.IsEnd(ids[i])) continue;
    return file.WrongValue(kKey, absl::StrCat("found ", ids[i], ", expected a token that ends a text by tokenizer.ggml.eos_token_id or "
                                              "eot_token_id, or by its own text"),
                           static_cast<int64_t>(i));
  }
  return absl::OkStatus();
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
  Fill(file, &GgufFile::String, facts.chat_template);
  Fill(file, &GgufFile::Bool, facts.add_bos);
  Fill(file, &GgufFile::Bool, facts.add_space_prefix);
  return facts;
}

ChatTemplateFacts ChatTemplateFactsOf(const GgufFile& file) {
  ChatTemplateFacts facts;
  Fill(file, &GgufFile::String, facts.source);
  return facts;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const GgufFile& file) {
  RETURN_IF_ERROR(JudgeKeys(file, "tokenizer.", {TokenizerKeys()}));
  ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(TokenizerFactsOf(file)));
  RETURN_IF_ERROR(CheckEnds(file, *tokenizer));
  return tokenizer;
}

absl::StatusOr<ChatTemplate> ReadChatTemplate(const GgufFile& file) { return ChatTemplate::FromSource(ChatTemplateFactsOf(file)); }

}  // namespace tessera
