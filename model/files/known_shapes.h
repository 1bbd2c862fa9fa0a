// Shapes of published models, as files without numbers: everything that plans a model works on them; nothing can be read from them.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> shape, OpenKnownShape("phi-3.5-mini"));
//   ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(*shape));
//   ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*shape, config, WeightEncoding::kTiles, WeightRecipe::Default()));
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> any, OpenShape("model.gguf"));           // for --shape: a name or a path
//
// A shape is what GgufFile::ParseHeaders makes of a header: the metadata that ReadModelConfig reads, every tensor by its name in such
// files, offsets and a size as a file would have them. There is no tokenizer: neither ReadModelConfig nor WeightLayout::Plan asks for one,
// and ReadTokenizer refuses a shape. The one tensor that can be read is rope_freqs.weight, where a model has it: it is part of the
// configuration, and computed here as converters do. Any other is FailedPrecondition, with shape and tensor. Messages say
// "shape phi-3.5-mini" where they would name a file's path. Thread-safe (constant data and pure functions).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/files/gguf.h"
#include "tessera/quant/block_format.h"

namespace tessera {

struct KnownShape {
  const char* name;     // "phi-3.5-mini": lower case, with dashes.
  const char* source;   // The repository on Hugging Face whose config.json has the numbers, or a paper.
  const char* assumed;  // What the source does not say, and where it was taken from instead. Empty: nothing.
  const char* differs;  // Where the shape is another than the source's, and why. Empty: nowhere.
};

// All of them, family by family.
std::vector<KnownShape> KnownShapes();

// Formats of matrices; vectors are F32. The defaults are those of a Q4_0 file as it is usually written, with one difference: a head
// whose inputs are whole blocks of 256 is Q6_K there, and Q8_0 only where they are not. Here it is always Q8_0.
struct ShapeFormats {
  BlockFormat layers = BlockFormat::kQ4_0;
  BlockFormat head = BlockFormat::kQ8_0;       // output.weight, or the embedding table where that is the head.
  BlockFormat embedding = BlockFormat::kQ4_0;  // The embedding table of models with a head of their own.
};

// NotFound (found, the known names, and the nearest) for a name that is not known; InvalidArgument (shape, tensor, found, expected) for a
// format that GGUF does not have or that cannot hold a matrix of these sizes.
absl::StatusOr<std::unique_ptr<GgufFile>> OpenKnownShape(absl::string_view name, const ShapeFormats& formats = {});

// A known shape in the default formats, or a model's file: anything that is not a known name and either ends in ".gguf" or is there. A file
// that bears a known name is opened as "./NAME". Errors: NotFound as above; those of GgufFile::Open.
absl::StatusOr<std::unique_ptr<GgufFile>> OpenShape(const std::string& name_or_path);

}  // namespace tessera
