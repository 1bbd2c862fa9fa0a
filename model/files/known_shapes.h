// Shapes of published models, as files without numbers. Code that plans a model works with shapes, but nothing can be read from a shape.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> shape, OpenKnownShape("phi-3.5-mini"));
//   ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(*shape));
//   ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*shape, config, WeightEncoding::kTiles, WeightRecipe::Default()));
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> any, OpenShape("model.gguf"));           // for --shape: a name or a path
//
// A shape is the result of GgufFile::ParseHeaders for a header with the metadata that ReadModelConfig reads, every tensor by its usual
// name, and a file's offsets and size. A shape has no tokenizer: ReadModelConfig and WeightLayout::Plan need none, and ReadTokenizer
// refuses a shape. Only rope_freqs.weight can be read, if the model has this tensor: it is part of the configuration, and computed here as
// converters do. Reading any other tensor returns FailedPrecondition, with shape and tensor. Messages say "shape phi-3.5-mini" in place of
// a file's path. Thread-safe (constant data and pure functions).
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
  const char* assumed;  // Facts that the source lacks, and the other source of each fact. Empty: none.
  const char* differs;  // Differences between the shape and the source, with reasons. Empty: none.
};

// Returns all shapes, family by family.
std::vector<KnownShape> KnownShapes();

// Formats of matrices; vectors are F32. The defaults are the formats of a usual Q4_0 file, with one difference. In such a file a head whose
// inputs are whole blocks of 256 is Q6_K, and any other head is Q8_0. Here the head is always Q8_0.
struct ShapeFormats {
  BlockFormat layers = BlockFormat::kQ4_0;
  BlockFormat head = BlockFormat::kQ8_0;       // output.weight, or the embedding table if that is the head.
  BlockFormat embedding = BlockFormat::kQ4_0;  // The embedding table of models with a separate head.
};

// Opens a known shape. Returns NotFound (found, the known names, and the nearest) for an unknown name. Returns InvalidArgument (shape,
// tensor, found, expected) for a format that GGUF does not have or that cannot hold a matrix of these sizes.
absl::StatusOr<std::unique_ptr<GgufFile>> OpenKnownShape(absl::string_view name, const ShapeFormats& formats = {});

// Opens a known shape in the default formats, or a model's file: anything that is no known name and either ends in ".gguf" or exists. To
// open a file with a known name, write "./NAME". Returns NotFound like OpenKnownShape; the errors of GgufFile::Open.
absl::StatusOr<std::unique_ptr<GgufFile>> OpenShape(const std::string& name_or_path);

}  // namespace tessera
