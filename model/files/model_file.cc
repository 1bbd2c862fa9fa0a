#include "tessera/model/files/model_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/packed_header.h"
#include "tessera/model/files/internal/packed_units.h"

namespace tessera {
namespace {

constexpr int kMostReaders = 4;  // More would hardly clear and copy memory faster.

// Reading is work of the system, which clears pages and copies. So it gets threads even if few threads compute. But the CPU on which the
// header is parsed meanwhile gets a reading thread only if that is worth it (late_threads).
absl::StatusOr<std::unique_ptr<LoadingSource>> StartLoading(const TsrReader& reader, const std::atomic<bool>* cancel) {
  const int cpus = AvailableCpus(), threads = std::min(cpus, kMostReaders);
  return LoadingSource::Start(reader, {.threads = threads, .late_threads = threads == cpus && cpus > 1 ? 1 : 0, .cancel = cancel});
}

// `loading` may be null.
absl::StatusOr<SharedBytes> ReadBytes(const TsrReader& reader, LoadingSource* loading, absl::string_view name) {
  if (loading != nullptr) return loading->ReadAttachment(name);
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, reader.ReadAttachment(name));
  return SharedBytes(std::move(bytes));
}

absl::StatusOr<std::unique_ptr<GgufFile>> ReadHeaders(const TsrReader& reader, LoadingSource* loading) {
  if (reader.layout() != PackedMatrix::kLayout) {
    return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": layout: found ", Quoted(reader.layout()), ", expected ",
                                                   Quoted(PackedMatrix::kLayout), "; pack the model again"));
  }
  return OpenHeader(reader.attachments(), [&](absl::string_view name) { return ReadBytes(reader, loading, name); }, reader.path());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelFile>> ModelFile::Open(const std::string& path, Weights weights,
                                                           const std::atomic<bool>* cancel) {
  std::unique_ptr<ModelFile> file(new ModelFile);
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> opened, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const bool packed, IsTsrFile(*opened));
  if (packed) {
    ASSIGN_OR_RETURN(file->packed_, TsrReader::Open(std::move(opened)));
    if (weights == Weights::kAtOnce) {
      // If there is no memory for the weights, the header may still show what is wrong with the file; LoadWeights tries again later.
      if (auto loading = StartLoading(*file->packed_, cancel); loading.ok()) file->loading_ = *std::move(loading);
    }
    ASSIGN_OR_RETURN(file->gguf_, ReadHeaders(*file->packed_, file->loading_.get()));
  } else {
    absl::StatusOr<std::unique_ptr<GgufFile>> gguf = GgufFile::Open(std::move(opened));
    if (!gguf.ok() && absl::EndsWith(path, ".tsr")) {  // Perhaps cut so short that it cannot be recognized.
      return absl::Status(gguf.status().code(), absl::StrCat(gguf.status().message(), "; nor does it begin as a .tsr file does"));
    }
    ASSIGN_OR_RETURN(file->gguf_, std::move(gguf));
  }
  return file;
}

absl::StatusOr<WeightLayout> ModelFile::PlanWeights(const ModelConfig& config, WeightEncoding encoding) const {
  if (packed_ != nullptr && encoding != WeightEncoding::kPacked) {
    return absl::InvalidArgumentError(
        absl::StrCat(path(), ": found packed weights, expected a GGUF file for the reference path"));
  }
  ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*gguf_, config, encoding));
  if (packed_ != nullptr) RETURN_IF_ERROR(CheckPackedUnits(*packed_, layout));
  return layout;
}

absl::StatusOr<std::unique_ptr<WeightSource>> ModelFile::LoadWeights(const WeightLayout& layout, ThreadPool& pool,
                                                                     const std::atomic<bool>* cancel) {
  if (packed_ == nullptr) return LoadResident(*gguf_, layout, pool);
  if (loading_ != nullptr) return std::move(loading_);
  return StartLoading(*packed_, cancel);
}

}  // namespace tessera
