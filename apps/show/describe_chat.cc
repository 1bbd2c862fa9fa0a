#include "tessera/apps/show/describe_chat.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/model/files/read_tokenizer.h"

namespace tessera {
std::string ChatText(const GgufFile& file) {
  if (!HasChatTemplate(file)) return "";
  const absl::StatusOr<ChatTemplate> chat = ReadChatTemplate(file);
  if (!chat.ok()) return absl::StrCat("chat template: cannot be run: ", chat.status().message(), "\n");
  const ChatAbilities abilities = chat->Abilities();
  std::vector<std::string> writes;
  if (abilities.system_turn) writes.push_back("a system message");
  if (abilities.tools) writes.push_back("tools");
  if (abilities.earlier_reasoning) writes.push_back("the reasoning of earlier answers");
  const std::string reads = absl::StrJoin(abilities.arguments, ", ");
  return absl::StrCat("chat template: writes ", writes.empty() ? "messages alone" : absl::StrJoin(writes, ", "),
                      reads.empty() ? "" : "; --template_args may set ", reads, "\n");
}

void WriteChat(JsonWriter& json, const GgufFile& file) {
  if (!HasChatTemplate(file)) {
    json.Null();
    return;
  }
  const absl::StatusOr<ChatTemplate> chat = ReadChatTemplate(file);
  json.BeginObject();
  if (!chat.ok()) {
    json.Key("error").String(chat.status().message()).EndObject();
    return;
  }
  const ChatAbilities abilities = chat->Abilities();
  json.Key("system_turn").Bool(abilities.system_turn).Key("tools").Bool(abilities.tools);
  json.Key("earlier_reasoning").Bool(abilities.earlier_reasoning).Key("arguments").BeginArray();
  for (const std::string& name : abilities.arguments) json.String(name);
  json.EndArray().EndObject();
}

}  // namespace tessera
