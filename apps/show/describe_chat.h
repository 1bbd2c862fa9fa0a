// The abilities of a model's chat template, found by trying the template; for people and as JSON.
//
//   text += ChatText(*file);                          // "chat template: writes a system turn, tools; reads enable_thinking"
//   WriteChat(json.Key("chat_template"), *file);      // null: the file has none
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

std::string ChatText(const GgufFile& file);  // A line; empty if the file has no template.
void WriteChat(JsonWriter& json, const GgufFile& file);

}  // namespace tessera
