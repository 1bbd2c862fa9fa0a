#include "tessera/model/files/is_gguf.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/gguf_rules.h"

namespace tessera {

absl::StatusOr<bool> IsGguf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  uint32_t magic = 0;
  if (file->size() < static_cast<int64_t>(sizeof magic)) return false;
  RETURN_IF_ERROR(file->Read(0, {reinterpret_cast<std::byte*>(&magic), sizeof magic}));
  return magic == kGgufMagic;
}

}  // namespace tessera
