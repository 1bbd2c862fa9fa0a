#include "tessera/model/files/file_type.h"

namespace tessera {
namespace {

struct FileType { uint32_t gguf_type, file_type; };
constexpr FileType kFileTypes[] = {{0, 0},   {1, 1},   {2, 2},   {3, 3},   {6, 8},   {7, 9},   {8, 7},   {10, 10}, {11, 11},
                                   {12, 14}, {13, 16}, {14, 18}, {16, 19}, {17, 20}, {18, 23}, {19, 24}, {20, 25}, {21, 26},
                                   {22, 28}, {23, 30}, {29, 31}, {30, 32}, {34, 36}, {35, 37}, {39, 38},
                                   {40, 39}, {41, 40}, {42, 41}};
constexpr uint32_t kGuessedFileType = 1024;

}  // namespace

uint32_t FileTypeOf(BlockFormat format) {
  for (const FileType& type : kFileTypes) {
    if (type.gguf_type == InfoOf(format).gguf_type) return type.file_type;
  }
  return kGuessedFileType;
}

}  // namespace tessera
