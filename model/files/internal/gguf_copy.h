// Copies metadata and tensors to a GGUF file that is made from another.
//
//   CopyMetadata(file, FileTypeOf(BlockFormat::kQ4_0), writer);
//   RETURN_IF_ERROR(CopyTensor(file, tensor, append));
//
// Threads: thread-safe, except the writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

// Copies all keys except the keys of a split model and of the old file's alignment, which the writer does not keep. file_type: the new
// general.file_type, added if absent; nullopt: unchanged. Some readers refuse a file of blocks without general.quantization_version, so
// this key is added, too.
void CopyMetadata(const GgufFile& file, std::optional<uint32_t> file_type, GgufWriter& writer);

// Appends the tensor's bytes, piece by piece. Returns the errors of GgufFile::Read and CheckUnchanged.
absl::Status CopyTensor(const GgufFile& file, const GgufTensor& tensor, GgufWriter::Append append);

// Returns the names of tensors in an unread format, with unknown size: such tensors cannot be copied, and change no text.
std::vector<std::string> NamesOfUnread(const GgufFile& file);

// Returns "PATH: tensor NAME", for messages.
std::string PlaceOf(const GgufFile& file, const GgufTensor& tensor);

}  // namespace tessera
