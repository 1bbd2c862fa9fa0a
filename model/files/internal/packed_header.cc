#include "tessera/model/files/internal/packed_header.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {
namespace {

constexpr char kOfTensor[] = "tensor.", kRecipe[] = "recipe";
constexpr int64_t kLongestRecipe = 4096;

std::string OfPart(size_t part) { return part == 0 ? "gguf" : absl::StrCat("gguf.", part); }

}  // namespace

absl::StatusOr<std::vector<TsrAttachment>> HeaderAttachments(const GgufFile& file, const WeightRecipe& recipe) {
  std::vector<TsrAttachment> attachments;
  for (int part = 0; part < file.parts(); ++part) {
    ASSIGN_OR_RETURN(const GgufFile::Header header, file.HeaderOf(part));
    const absl::Span<const std::byte> bytes = header.bytes.span();
    attachments.push_back({OfPart(attachments.size()), {bytes.begin(), bytes.end()}, header.file_bytes});
  }
  if (!recipe.keeps_all()) {
    const std::string text = recipe.text();
    TsrAttachment kept = {.name = kRecipe};
    std::transform(text.begin(), text.end(), std::back_inserter(kept.bytes), [](char c) { return static_cast<std::byte>(c); });
    attachments.push_back(std::move(kept));
  }
  const GgufTensor* const factors = file.FindTensor(kRopeFactors);
  if (factors == nullptr) return attachments;
  TsrAttachment kept = {.name = absl::StrCat(kOfTensor, kRopeFactors), .bytes = std::vector<std::byte>(factors->size)};
  RETURN_IF_ERROR(file.Read(*factors, 0, absl::MakeSpan(kept.bytes)));
  attachments.push_back(std::move(kept));
  return attachments;
}

absl::StatusOr<std::unique_ptr<GgufFile>> OpenHeader(absl::Span<const TsrReader::Attachment> attachments,
                                                     absl::FunctionRef<absl::StatusOr<SharedBytes>(absl::string_view name)> read,
                                                     const std::string& name) {
  std::vector<GgufFile::Header> headers;
  for (const TsrReader::Attachment& each : attachments) {
    if (each.name != OfPart(headers.size())) continue;
    ASSIGN_OR_RETURN(SharedBytes header, read(each.name));
    headers.push_back({std::move(header), each.whole_bytes == 0 ? each.bytes : each.whole_bytes});
  }
  if (headers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": attachments: found none named ", Quoted(OfPart(0)), ", expected a model's GGUF header"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::ParseHeaders(std::move(headers), name));
  for (const TsrReader::Attachment& each : attachments) {
    absl::string_view tensor = each.name;
    if (!absl::ConsumePrefix(&tensor, kOfTensor) || tensor != kRopeFactors) continue;
    ASSIGN_OR_RETURN(SharedBytes bytes, read(each.name));
    RETURN_IF_ERROR(file->KeepTensor(tensor, std::move(bytes)));
  }
  return file;
}

std::string LayoutOf(const WeightRecipe& recipe) { return recipe.has_tiles() ? TileMatrix::kLayout : PackedMatrix::kLayout; }

absl::StatusOr<WeightRecipe> OpenRecipe(absl::string_view layout, absl::Span<const TsrReader::Attachment> attachments,
                                        absl::FunctionRef<absl::StatusOr<SharedBytes>(absl::string_view name)> read,
                                        const std::string& name) {
  const auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": attachment ", Quoted(kRecipe), ": ", parts..., "; pack the model again"));
  };
  WeightRecipe recipe;
  const auto found = std::find_if(attachments.begin(), attachments.end(), [](const auto& each) { return each.name == kRecipe; });
  if (found != attachments.end()) {
    if (found->bytes > kLongestRecipe) return wrong("found ", found->bytes, " bytes, expected at most ", kLongestRecipe);
    ASSIGN_OR_RETURN(const SharedBytes bytes, read(found->name));
    const absl::Span<const std::byte> text = bytes.span();
    const auto parsed = WeightRecipe::Parse({reinterpret_cast<const char*>(text.data()), text.size()});
    if (!parsed.ok()) return wrong(parsed.status().message());
    recipe = *parsed;
  }
  if (layout == LayoutOf(recipe)) return recipe;
  return wrong("found ", found == attachments.end() ? "none" : recipe.text(), ", the layout of which is ", Quoted(LayoutOf(recipe)),
               ", expected a recipe of the file's layout, ", Quoted(layout));
}

}  // namespace tessera
