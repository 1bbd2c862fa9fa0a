// A GGUF file's metadata and tensors, as tables for people and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(FileText(*file)));
//
// Long strings and arrays are shortened (keys in the text only), and control characters escaped: what a file holds cannot take over
// a terminal.
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/model/gguf.h"

namespace tessera {

std::string FileText(const GgufFile& file);
std::string FileJson(const GgufFile& file);

}  // namespace tessera
