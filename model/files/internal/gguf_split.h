// Models split into files model-00001-of-00003.gguf, model-00002-of-00003.gguf and so on, in one folder.
//
//   ASSIGN_OR_RETURN(const bool split, GgufSplit::IsPart(*file));
//   if (split) return GgufSplit::Join(std::move(file));
//
// The metadata of each part has its number (split.no, from 0), the number of parts (split.count) and the number of tensors in all parts
// together (split.tensors.count); the file's name must agree. All other metadata is in the first part: other parts may only have the
// alignment of their own tensors. Each tensor is in one part. Errors name the part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

class GgufSplit {
 public:
  // Whether the file is one of several parts. InvalidArgument if split.count is not a number.
  static absl::StatusOr<bool> IsPart(const GgufFile& file);

  // Opens the other parts and makes one file of all. NotFound names a part that is missing. REQUIRES: IsPart(*part), and it was
  // opened by its path.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Join(std::unique_ptr<GgufFile> part);

  // The same for given parts, in order; a part whose metadata says that it is the only one may be alone. `name`: for messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> JoinHeaders(std::vector<std::unique_ptr<GgufFile>> parts,
                                                               const std::string& name);

  struct PartNumber;

 private:
  // REQUIRES: each part's metadata has the number of its place; `tensors` is the number of all tensors that the parts state.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Unite(std::vector<std::unique_ptr<GgufFile>> parts, uint64_t tensors);

  // `stem`: the common beginning of the parts' names. `path`: the part that was asked for, for messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> OpenSister(const std::string& path, const std::string& stem,
                                                              const PartNumber& sister);
  // Adds the tensors of part `number` to those of the whole.
  static absl::Status TakeTensors(GgufFile& whole, int number);
};

}  // namespace tessera
