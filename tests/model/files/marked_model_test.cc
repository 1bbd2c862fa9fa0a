// A model's mark: the same of a GGUF file and of what is packed from it, another one of another model.
#include "tessera/model/files/marked_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/importance.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

uint32_t MarkIn(const std::string& path) {
  const auto file = Must(ModelFile::Open(path));
  return Must(MarkedModel(*file).Vectors());
}

TEST(MarkedModel, HeaderExample) {
  const PackedTiny tiny({});
  const auto model_file = Must(ModelFile::Open(tiny.gguf()));
  std::string refused;
  const auto Refuse = [&](const std::string& path, uint32_t, uint32_t) {
    refused = path;
    return absl::OkStatus();
  };
  const auto check = [&](uint32_t found) -> absl::Status {
    const MarkedModel marked(*model_file);
    ASSIGN_OR_RETURN(const uint32_t mark, marked.Vectors());
    if (mark != found) return Refuse(marked.path(), found, mark);
    return absl::OkStatus();
  };
  const uint32_t right = Must(Importance::MarkOf(model_file->gguf(), Must(ReadModelConfig(model_file->gguf())))).vectors;
  Must(check(right));
  EXPECT_EQ(refused, "");
  Must(check(right + 1));
  EXPECT_EQ(refused, tiny.gguf());
}

// Each architecture has vectors of its own: norms of queries and keys, biases, norms behind the parts of a layer, a head's bias.
TEST(MarkedModel, APackedModelHasThatOfItsGgufModel) {
  for (const char* const architecture : kArchitectures) {
    const PackedTiny tiny({.architecture = architecture, .layers = 3});
    const auto gguf = Must(GgufFile::Open(tiny.gguf()));
    const uint32_t expected = Must(MarkedModel(*gguf).Vectors());
    EXPECT_EQ(MarkIn(tiny.gguf()), expected) << architecture;
    EXPECT_EQ(MarkIn(tiny.packed()), expected) << architecture;
    const std::string tiles = tiny.folder().Path("tiles.tsr");
    PackFile(tiny.gguf(), tiles, /*threads=*/2, WeightRecipe::Default().name());
    EXPECT_EQ(MarkIn(tiles), expected) << architecture;
  }
}

TEST(MarkedModel, OtherVectorsAreAnotherMark) {
  const PackedTiny one({.seed = 1}), other({.seed = 2});
  EXPECT_NE(MarkIn(one.packed()), MarkIn(other.packed()));
  EXPECT_NE(MarkIn(PackedTiny({.layers = 2}).packed()), MarkIn(PackedTiny({.layers = 3}).packed()));
}

// What is read of a packed file is checked, and an error is no answer for later.
TEST(MarkedModel, ADamagedPackedFileHasNone) {
  const PackedTiny tiny({});
  std::string bytes = Must(ReadFileToString(tiny.packed(), int64_t{1} << 30));
  const auto reader = Must(TsrReader::Open(tiny.packed()));
  for (int unit = 0; unit < reader->units(); ++unit) bytes[static_cast<size_t>(reader->UnitOffset(unit))] ^= 1;
  const std::string damaged = tiny.folder().Path("damaged.tsr");
  Must(WriteFileAtomically(damaged, bytes));
  const auto file = Must(ModelFile::Open(damaged));
  const MarkedModel marked(*file);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = marked.Vectors().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), damaged)) << status;
  }
}

}  // namespace
}  // namespace tessera
