#include "tessera/model/files/read_tokenizer.h"

#include <utility>

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
  return Tokenizer::Create(TokenizerFactsOf(file));
}

absl::StatusOr<ChatTemplate> ReadChatTemplate(const GgufFile& file) { return ChatTemplate::FromSource(ChatTemplateFactsOf(file)); }

}  // namespace tessera
