#include "tessera/model/verify.h"

#include <algorithm>
#include <atomic>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/model/config.h"
#include "tessera/model/internal/quoted.h"
#include "tessera/model/tensor_names.h"
#include "tessera/model/tokenizer.h"
#include "tessera/quant/finite_blocks.h"

namespace tessera {
namespace {

constexpr int64_t kReadAtOnce = int64_t{512} << 10;  // What a thread reads and looks at in its own cache.

std::vector<TensorNeed> AllNeeds(const ModelConfig& config) {
  std::vector<TensorNeed> all = {EmbeddingNeed(config), OutputNormNeed(config)};
  if (!config.tied_head) all.push_back(HeadNeed(config));
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    for (TensorNeed& need : LayerNeeds(config, layer)) all.push_back(std::move(need));
  }
  return all;
}

// Some blocks of a tensor, and what was found in them.
struct Piece {
  const GgufTensor* tensor;
  int64_t begin, size;  // In bytes of the tensor.
  NotFiniteBlocks bad = {};
  absl::Status read = absl::OkStatus();
};

std::vector<Piece> PiecesOf(const GgufFile& file) {
  std::vector<Piece> pieces;
  for (const GgufTensor& tensor : file.tensors()) {
    const int64_t block = tensor.format->bytes_per_block, step = kReadAtOnce / block * block;
    for (int64_t begin = 0; begin < tensor.size; begin += step) {
      pieces.push_back({&tensor, begin, std::min(step, tensor.size - begin)});
    }
  }
  return pieces;
}

void ScanPieces(const GgufFile& file, ThreadPool& pool, const std::function<void(int64_t, int64_t)>& progress, int64_t total,
                std::vector<Piece>& pieces) {
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> done = 0;
  pool.Run([&](int worker) {
    std::vector<std::byte> buffer(kReadAtOnce);
    for (size_t i = next++; i < pieces.size(); i = next++) {
      Piece& piece = pieces[i];
      const absl::Span<std::byte> bytes = absl::MakeSpan(buffer).first(piece.size);
      piece.read = file.Read(*piece.tensor, piece.begin, bytes);
      if (piece.read.ok()) piece.bad = FindNotFinite(piece.tensor->format->format, bytes);
      done += piece.size;
      if (worker == 0) progress(done, total);
    }
  });
  progress(total, total);
}

class Verifier {
 public:
  Verifier(const std::string& path, ThreadPool& pool) : path_(path), pool_(pool) {}

  VerifyReport Run(const std::function<void(int64_t, int64_t)>& progress) && {
    const auto file = GgufFile::Open(path_);
    if (!file.ok()) {
      Add(path_, file.status());
      return std::move(report_);
    }
    CheckModel(**file);
    for (const GgufTensor& tensor : (*file)->tensors()) report_.tensor_bytes += tensor.size;
    report_.tensors = static_cast<int>((*file)->tensors().size());
    report_.unused_bytes = (*file)->unused_bytes();
    CheckNumbers(**file, progress);
    return std::move(report_);
  }

 private:
  void Add(const std::string& file, const absl::Status& status) {
    report_.problems.push_back({file, "", -1, std::string(status.message())});
  }

  void CheckModel(const GgufFile& file) {
    const absl::Status tokenizer = Tokenizer::FromGguf(file).status();
    if (!tokenizer.ok()) Add(path_, tokenizer);
    const absl::StatusOr<ModelConfig> config = ReadModelConfig(file);
    if (!config.ok()) return Add(path_, config.status());
    absl::flat_hash_set<std::string> asked_for = {"rope_freqs.weight"};
    for (const TensorNeed& need : AllNeeds(*config)) {
      asked_for.insert(need.name);
      const absl::StatusOr<const GgufTensor*> tensor = FindNeeded(file, need);
      if (tensor.ok()) continue;
      const GgufTensor* found = file.FindTensor(need.name);
      report_.problems.push_back(
          {found == nullptr ? path_ : file.PathOf(*found), need.name, -1, std::string(tensor.status().message())});
    }
    for (const GgufTensor& tensor : file.tensors()) report_.unused_tensors += !asked_for.contains(tensor.name);
  }

  // One problem a tensor.
  void CheckNumbers(const GgufFile& file, const std::function<void(int64_t, int64_t)>& progress) {
    std::vector<Piece> pieces = PiecesOf(file);
    ScanPieces(file, pool_, progress, report_.tensor_bytes, pieces);
    for (size_t i = 0; i < pieces.size();) {
      const GgufTensor& tensor = *pieces[i].tensor;
      const int64_t block_bytes = tensor.format->bytes_per_block;
      int64_t count = 0, first = -1;
      absl::Status read;
      for (; i < pieces.size() && pieces[i].tensor == &tensor; ++i) {
        read.Update(pieces[i].read);
        if (count == 0 && pieces[i].bad.count > 0) first = tensor.offset + pieces[i].begin + pieces[i].bad.first * block_bytes;
        count += pieces[i].bad.count;
      }
      const std::string& path = file.PathOf(tensor);
      if (!read.ok()) report_.problems.push_back({path, std::string(tensor.name), tensor.offset, std::string(read.message())});
      if (count == 0) continue;
      report_.problems.push_back({path, std::string(tensor.name), first,
                                  absl::StrCat(path, ": tensor ", Quoted(tensor.name), ": found a NaN or an infinity in ", count,
                                               " of ", tensor.size / block_bytes, " ", tensor.format->name,
                                               tensor.format->values_per_block == 1 ? " values" : " blocks",
                                               ", the first at byte ", first, ", expected finite numbers")});
    }
  }

  const std::string path_;
  ThreadPool& pool_;
  VerifyReport report_;
};

}  // namespace

VerifyReport VerifyModel(const std::string& path, ThreadPool& pool,
                         const std::function<void(int64_t done, int64_t total)>& progress) {
  return Verifier(path, pool).Run(progress);
}

}  // namespace tessera
