// All known bad GGUF files, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadFile& file : BadGgufFiles()) EXPECT_EQ(StatusOf(file.bytes).message(), "PATH: " + file.message);
//   WriteBadFiles(BadGgufFiles(), "corpus/gguf");                  // one NAME.gguf each
//
// BadGgufFiles are no GGUF files. BadModelFiles are GGUF files, but not models that could run. The tables are in bad_files/.
#pragma once

#include "tessera/tests/fakes/bad_files/bad_metadata.h"
#include "tessera/tests/fakes/bad_files/bad_model_keys.h"
#include "tessera/tests/fakes/bad_files/bad_tensors.h"
#include "tessera/tests/fakes/bad_files/bad_vocabularies.h"
#include "tessera/tests/fakes/bad_files/bad_weights.h"
#include "tessera/tests/fakes/bad_files/truncated.h"

namespace tessera {

inline std::vector<BadFile> BadGgufFiles() {
  std::vector<BadFile> files;
  AddTruncated(files);
  AddBadMetadata(files);
  AddBadTensors(files);
  return files;
}

inline std::vector<BadFile> BadModelFiles() {
  std::vector<BadFile> files;
  AddBadModelKeys(files);
  AddBadVocabularies(files);
  AddBadWeights(files);
  return files;
}

// REQUIRES: the folder exists.
inline void WriteBadFiles(const std::vector<BadFile>& files, const std::string& folder) {
  for (const BadFile& file : files) {
    std::ofstream out(absl::StrCat(folder, "/", file.name, ".gguf"), std::ios::binary);
    out << file.bytes;
    CHECK(out.flush().good()) << folder << ": cannot write " << file.name;
  }
}

}  // namespace tessera
