#include "tessera/model/files/adapter_file.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/adapter_plan.h"

namespace tessera {
std::vector<float> AdapterMatrix::Floats() const {
  std::vector<float> numbers(static_cast<size_t>(rows * columns));
  InfoOf(format).dequantize(bytes.data(), rows * columns, numbers.data());
  return numbers;
}

int64_t AdapterFile::Bytes() const {
  int64_t bytes = 0;
  for (const AdapterPair& pair : pairs) bytes += static_cast<int64_t>(pair.a.bytes.size() + pair.b.bytes.size());
  return bytes;
}

absl::StatusOr<std::unique_ptr<AdapterReader>> AdapterReader::Open(const std::string& path, const MarkedModel& model,
                                                                   const ModelConfig& config) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return OpenAdapterFolder(path, model, config);
  if (absl::EndsWith(path, ".safetensors") || absl::EndsWith(path, ".json")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": found a file of an adapter's folder, expected the folder, or a GGUF file"));
  }
  return OpenGgufAdapter(path, model, config);
}

absl::StatusOr<AdapterFile> AdapterReader::Read() const {
  AdapterFile adapter = shapes_;
  RETURN_IF_ERROR(ReadPairs([&](size_t number, AdapterPair&& pair) {
    adapter.pairs[number] = std::move(pair);
    return absl::OkStatus();
  }));
  return adapter;
}

absl::StatusOr<AdapterFile> ReadAdapter(const std::string& path, const MarkedModel& model, const ModelConfig& config, AdapterRead read) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AdapterReader> reader, AdapterReader::Open(path, model, config));
  return read == AdapterRead::kShapes ? reader->shapes() : reader->Read();
}

}  // namespace tessera
