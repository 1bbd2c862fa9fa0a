// Models split into files model-00001-of-00003.gguf, model-00002-of-00003.gguf and so on, which lie beside each other.
//
//   ASSIGN_OR_RETURN(const bool split, GgufSplit::IsPart(*file));
//   if (split) return GgufSplit::Join(std::move(file));
//
// Every part says in its metadata which it is (split.no, from 0), of how many (split.count) and how many tensors all have
// together (split.tensors.count); its name must agree. All other metadata is the first part's: the rest may hold none, but for
// the alignment of their own tensors. Each tensor is in one part. Errors name the part.
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
  // Whether the file is one of several parts. InvalidArgument if split.count is no number.
  static absl::StatusOr<bool> IsPart(const GgufFile& file);

  // Opens the other parts and makes one file of all. NotFound names a part that is missing. REQUIRES: IsPart(*part), and it was
  // opened by its path.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Join(std::unique_ptr<GgufFile> part);

  // The same of parts that are at hand, in order; one that says it is the only one may be alone. `name`: for messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> JoinHeaders(std::vector<std::unique_ptr<GgufFile>> parts,
                                                               const std::string& name);

  struct PartNumber;

 private:
  // REQUIRES: each part says that it is what its place says; `tensors` is what they say of all together.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Unite(std::vector<std::unique_ptr<GgufFile>> parts, uint64_t tensors);

  // `stem`: what the names of the parts begin with. `path`: the part that was asked for, for messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> OpenSister(const std::string& path, const std::string& stem,
                                                              const PartNumber& sister);
  // Adds the tensors of part `number` to those of the whole.
  static absl::Status TakeTensors(GgufFile& whole, int number);
};

}  // namespace tessera
