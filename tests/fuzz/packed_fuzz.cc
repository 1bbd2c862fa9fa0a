// What a packed model says of itself in attachments: the headers of its GGUF parts, and its recipe. Either is refused in words that name
// the file, or the model's tensors are those of the headers, and the recipe is the layout's.
//
// An input's first byte says how many parts follow and which layout the file has; a zero byte ends the text of a recipe, which may be
// empty; the rest is the header, or the headers, each as long as the other.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "tessera/model/files/internal/packed_header.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/tiny_model.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/spoiled_files.h"
#include "tessera/tests/fuzz/use_tensors.h"

namespace tessera {
namespace {

constexpr char kName[] = "packed.tsr";
constexpr int kTiles = 1, kTwoParts = 2;   // Bits of the first byte.
constexpr int64_t kFileBytes = 1 << 16;    // The size of each GGUF file whose header it is.

std::vector<std::byte> BytesOf(absl::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

absl::Status Refused(const absl::Status& status) {
  // A key that a header lacks is NotFound (GgufFile).
  CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) || absl::IsNotFound(status)) << status;
  CHECK(absl::StartsWith(status.message(), kName)) << status;
  return status;
}

std::string Input(int bits, absl::string_view recipe, absl::string_view headers) {
  return absl::StrCat(std::string(1, static_cast<char>(bits)), recipe, std::string(1, '\0'), headers);
}

// Up to the end of the table of tensors, as a packed model keeps it.
std::string HeaderOf(const std::string& gguf) {
  const std::vector<std::byte> all = BytesOf(gguf);
  const auto file = GgufFile::Parse(all, "seed");
  CHECK(file.ok()) << file.status();
  const auto header = (*file)->HeaderOf(0);
  CHECK(header.ok()) << header.status();
  const absl::Span<const std::byte> bytes = header->bytes.span();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  const absl::string_view all(reinterpret_cast<const char*>(input.data()), input.size());
  const size_t end = std::min(all.find('\0', 1), all.size());
  const absl::string_view recipe = all.substr(1, end - 1), headers = all.substr(std::min(end + 1, all.size()));
  const bool two = (all[0] & kTwoParts) != 0;
  const size_t half = two ? headers.size() / 2 : headers.size();
  const std::vector<std::vector<std::byte>> bytes = {BytesOf(headers.substr(0, half)), BytesOf(headers.substr(half)), BytesOf(recipe)};
  std::vector<TsrReader::Attachment> attachments = {{"gguf", static_cast<int64_t>(half), kFileBytes}};
  if (two) attachments.push_back({"gguf.1", static_cast<int64_t>(headers.size() - half), kFileBytes});
  if (!recipe.empty()) attachments.push_back({"recipe", static_cast<int64_t>(recipe.size()), 0});
  const auto read = [&](absl::string_view name) -> absl::StatusOr<SharedBytes> {
    return SharedBytes(bytes[name == "gguf" ? 0 : name == "gguf.1" ? 1 : 2]);
  };
  const char* const layout = (all[0] & kTiles) != 0 ? TileMatrix::kLayout : PackedMatrix::kLayout;
  const auto found = OpenRecipe(layout, attachments, read, kName);
  if (!found.ok()) return Refused(found.status());
  CHECK(LayoutOf(*found) == layout && found->has_tiles() == ((all[0] & kTiles) != 0));
  const auto file = OpenHeader(attachments, read, kName);
  if (!file.ok()) return Refused(file.status());
  CHECK_EQ((*file)->parts(), two ? 2 : 1);
  CHECK_EQ((*file)->size(), kFileBytes * (*file)->parts());
  for (const GgufTensor& tensor : (*file)->tensors()) {
    CHECK_EQ((*file)->FindTensor(tensor.name), &tensor);
    CHECK(tensor.offset >= 0 && tensor.size >= 0 && tensor.size <= kFileBytes - tensor.offset) << tensor.name;
  }
  UseHeaders(**file);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  GgufBuilder small;
  small.String("general.architecture", "llama").Number("general.alignment", uint32_t{32}).Tensor("a", {32, 2}, /*F32*/ 0, std::string(256,
      'x'));
  const std::string header = HeaderOf(small.Build());
  std::vector<FuzzSeed> seeds = {{"nothing", ""}, {"no_header", Input(0, "", "")}, {"good", Input(0, "", header)}};
  for (const char* recipe : {"keep", "int4-tile", "Q4_0,head=keep", "int4-tile,ffn_down=int8-tile", "001", "x=y\n", ",",
                             "int4-tile,int4-tile"}) {
    for (const int bits : {0, kTiles}) seeds.push_back({absl::StrCat("recipe_", seeds.size()), Input(bits, recipe, header)});
  }
  seeds.push_back({"long_recipe", Input(0, std::string(5000, 'k'), header)});
  seeds.push_back({"two_alike", Input(kTwoParts, "", header + header)});
  std::string parts;
  for (const uint16_t part : {0, 1}) {
    GgufBuilder builder;
    builder.String("general.architecture", "llama").Number("other.no", part).Number("other.count", uint16_t{2});
    builder.Number("other.tensors.count", int32_t{2}).Tensor(part == 0 ? "a" : "b", {32, 2}, /*F32*/ 0, std::string(256, 'x'));
    parts += absl::StrReplaceAll(HeaderOf(builder.Build()), {{"other.", "split."}});   // A part alone is not read.
  }
  seeds.push_back({"two", Input(kTwoParts, "", parts)});
  std::vector<FuzzSeed> spoiled;
  AppendSpoiled("header", small, &spoiled);
  for (const FuzzSeed& seed : spoiled) {
    const size_t size = std::min(seed.bytes.size(), header.size());
    seeds.push_back({seed.name, Input(0, "", absl::string_view(seed.bytes).substr(0, size))});
  }
  return seeds;
}

}  // namespace tessera
