// Models split into files model-00001-of-00003.gguf, model-00002-of-00003.gguf and so on, in one folder.
//
//   ASSIGN_OR_RETURN(const bool split, GgufSplit::IsPart(*file));
//   if (split) return GgufSplit::Join(std::move(file));
//
// The metadata of each part has the part's number (split.no, from 0), the number of parts (split.count) and the number of tensors in all
// parts together (split.tensors.count). The file's name must agree. All other metadata is in the first part: other parts may only have the
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
  // Returns true if the file is one of several parts. Returns InvalidArgument if split.count is not a number.
  static absl::StatusOr<bool> IsPart(const GgufFile& file);

  // Opens the other parts and makes one file of all parts. Returns NotFound with the name of a missing part. REQUIRES: IsPart(*part), and
  // the part was opened by path.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Join(std::unique_ptr<GgufFile> part);

  // Joins given parts, in order. A part whose metadata has a count of one may be alone. `name`: for messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> JoinHeaders(std::vector<std::unique_ptr<GgufFile>> parts,
                                                               const std::string& name);

  struct PartNumber;

 private:
  // Unites the parts. REQUIRES: each part's metadata has the number of the part's place; `tensors` is the number of all tensors that the
  // parts state.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Unite(std::vector<std::unique_ptr<GgufFile>> parts, uint64_t tensors);

  // Opens another part. `stem`: the common prefix of the parts' names. `path`: the part that the caller asked for, for messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> OpenSister(const std::string& path, const std::string& stem,
                                                              const PartNumber& sister);
  // Adds the tensors of part `number` to the tensors of the whole.
  static absl::Status TakeTensors(GgufFile& whole, int number);
};

}  // namespace tessera
