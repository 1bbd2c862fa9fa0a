// Reads the model named on the command line, tests/golden/tiny/llama.gguf: its numbers, its tokenizer, and the weights of one unit.
#include <cstddef>
#include <iostream>
#include <memory>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/files/weights.h"

namespace {

using namespace tessera;

absl::Status Run(const char* path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file->gguf()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, ReadTokenizer(file->gguf()));
  ASSIGN_OR_RETURN(const WeightLayout layout, file->PlanWeights(config, WeightEncoding::kPacked));
  std::vector<std::byte> unit(static_cast<size_t>(layout.UnitBytes(0)));
  RETURN_IF_ERROR(FillUnit(file->gguf(), layout, 0, absl::MakeSpan(unit)));
  const std::vector<TokenId> tokens = tokenizer->Encode("hello");
  std::cout << "files: " << config.architecture << " of " << config.layers.size() << " layers, " << layout.units() << " units, "
            << tokens.size() << " tokens\n";
  const bool right = config.architecture == "llama" && tokenizer->vocabulary_size() <= config.vocabulary && layout.units() > 2;
  return right && !tokens.empty() ? absl::OkStatus() : absl::InternalError("found other numbers");
}

}  // namespace

int main(int, char** arguments) {
  const absl::Status status = Run(arguments[1]);
  const absl::Status missing = Run("missing.gguf");
  if (!status.ok()) std::cout << "files: " << status << "\n";
  return status.ok() && missing.code() == absl::StatusCode::kNotFound ? 0 : 1;
}
