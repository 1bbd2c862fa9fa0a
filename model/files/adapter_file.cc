#include "tessera/model/files/adapter_file.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/adapter_plan.h"

namespace tessera {
namespace {

uint64_t Mixed(uint64_t content, uint64_t value) { return MixBits(content ^ value) + value; }

uint64_t Mixed(uint64_t content, absl::Span<const std::byte> bytes) {
  content = Mixed(content, static_cast<uint64_t>(bytes.size()));
  while (!bytes.empty()) {
    const size_t taken = bytes.size() < sizeof(uint64_t) ? bytes.size() : sizeof(uint64_t);
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), taken);
    content = Mixed(content, word);
    bytes.remove_prefix(taken);
  }
  return content;
}

uint64_t Mixed(uint64_t content, const AdapterMatrix& matrix) {
  content = Mixed(content, static_cast<uint64_t>(matrix.format));
  content = Mixed(content, static_cast<uint64_t>(matrix.rows));
  content = Mixed(content, static_cast<uint64_t>(matrix.columns));
  return Mixed(content, matrix.bytes);
}

}  // namespace

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

uint64_t AdapterFile::Content() const {
  uint64_t content = 1;
  for (const AdapterPair& pair : pairs) {
    content = Mixed(content, static_cast<uint64_t>(pair.layer));
    content = Mixed(content, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(pair.matrix.data()), pair.matrix.size()));
    content = Mixed(content, uint64_t{std::bit_cast<uint32_t>(pair.scale)});
    content = Mixed(content, pair.a);
    content = Mixed(content, pair.b);
  }
  return content == 0 ? 1 : content;
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
