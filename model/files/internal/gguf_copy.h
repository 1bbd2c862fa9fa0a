// What a GGUF file that is made from another one takes over: metadata, and tensors as they are.
//
//   CopyMetadata(file, FileTypeOf(BlockFormat::kQ4_0), writer);
//   RETURN_IF_ERROR(CopyTensor(file, tensor, append));
//
// Thread-safe, but for the writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

// All keys but those of a split model and of the old file's alignment, which the writer does not keep. file_type: the new
// general.file_type, added if there is none; nullopt: as it is. Some readers refuse a file of blocks without general.quantization_version,
// which is added, too.
void CopyMetadata(const GgufFile& file, std::optional<uint32_t> file_type, GgufWriter& writer);

// Appends the tensor's bytes, piece by piece. The errors of GgufFile::Read and CheckUnchanged.
absl::Status CopyTensor(const GgufFile& file, const GgufTensor& tensor, GgufWriter::Append append);

// The names of tensors in a format that is not read, of which not even the size is known: they cannot be copied, and change no text.
std::vector<std::string> NamesOfUnread(const GgufFile& file);

// For messages: "PATH: tensor NAME".
std::string PlaceOf(const GgufFile& file, const GgufTensor& tensor);

}  // namespace tessera
