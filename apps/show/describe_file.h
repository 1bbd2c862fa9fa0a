// A model file's metadata and tensors (units of a packed file), as tables for people and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(FileText(*file)));                   // a GgufFile
//   RETURN_IF_ERROR(WriteOutput(PackedText(*reader, *file)));        // a TsrReader, the GgufFile in it, perhaps its recipe
//
// Long strings and arrays are shortened (keys in the text only), and control characters are escaped, so that a file cannot control a
// terminal.
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/tsr_writer.h"

namespace tessera {

std::string FileText(const GgufFile& file);
std::string FileJson(const GgufFile& file);

// Offsets are offsets in the file. Formats are the tensors' formats in GGUF, or forms of the recipe (ModelFile::recipe).
std::string PackedText(const TsrReader& reader, const GgufFile& file, const WeightRecipe& recipe = {});
std::string PackedJson(const TsrReader& reader, const GgufFile& file, const WeightRecipe& recipe = {});

// Returns a warning if the file lies in more pieces on the disk than expected; else empty.
std::string PiecesText(absl::string_view path, const TsrSummary& summary);

}  // namespace tessera
