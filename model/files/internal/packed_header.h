// The header of a GGUF model as attachments of a .tsr file: written at packing, and read at opening.
//
//   ASSIGN_OR_RETURN(contents.attachments, HeaderAttachments(*file));
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> header, OpenHeader(reader.attachments(), read, "model.tsr"));
//
//   attachment "gguf"                       the header, up to the end of the table of tensors; whole_bytes: the file's size
//   attachment "gguf.1", "gguf.2" ...       the same for the other parts of a split model
//   attachment "recipe"                     the forms of its matrices, WeightRecipe::text; none: as in the GGUF file
//   attachment "tensor.rope_freqs.weight"   the bytes of a tensor that is read with the configuration, as they are in the GGUF file
//
// Other attachments may be for other programs. Thread-safe (pure functions).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

absl::StatusOr<std::vector<TsrAttachment>> HeaderAttachments(const GgufFile& file, const WeightRecipe& recipe = {});

// Returns TsrContents::layout for weights in the recipe's forms.
std::string LayoutOf(const WeightRecipe& recipe);

// Opens the header. `read` returns the bytes of an attachment, by name. `name`: the file's name, for messages. Returns InvalidArgument
// (attachment, found, expected) if there is no header, or if a tensor's bytes differ from the header's size; the errors of `read` and
// GgufFile::ParseHeaders.
absl::StatusOr<std::unique_ptr<GgufFile>> OpenHeader(absl::Span<const TsrReader::Attachment> attachments,
                                                     absl::FunctionRef<absl::StatusOr<SharedBytes>(absl::string_view name)> read,
                                                     const std::string& name);

// Returns the recipe of a file with this layout. Returns InvalidArgument (attachment, found, expected) if the recipe's text is too long or
// no recipe, or if the layout does not match the recipe's forms; the errors of `read`.
absl::StatusOr<WeightRecipe> OpenRecipe(absl::string_view layout, absl::Span<const TsrReader::Attachment> attachments,
                                        absl::FunctionRef<absl::StatusOr<SharedBytes>(absl::string_view name)> read,
                                        const std::string& name);

}  // namespace tessera
