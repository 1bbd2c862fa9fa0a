#include "tessera/model/files/verify.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/quoted.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/internal/tensor_check.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/files/recommended_sampling.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/quant/finite_blocks.h"
#include "tessera/storage/tsr_check.h"

namespace tessera {
namespace {

constexpr int64_t kReadAtOnce = int64_t{512} << 10;  // Bytes that a thread reads at once, and checks in the thread's own cache.

// The findings in a tensor. Places are bytes of the tensor; -1: none.
struct Findings {
  int64_t bad_blocks = 0, first_bad = -1;
  int64_t first_unread = -1;
  absl::Status read;  // The error of reading first_unread.
};

// Reads tensors in pieces of whole blocks. A piece is only a number, since a file may have any number of pieces; findings are kept per
// tensor. Thread-safe.
class Scanner {
 public:
  explicit Scanner(const GgufFile& file) : file_(file), findings_(file.tensors().size()) {}

  // Reads pieces until all pieces are taken. progress: called with the bytes that all threads have read.
  void Run(const std::function<void(int64_t)>& progress) {
    std::vector<std::byte> buffer(kReadAtOnce);
    int64_t first_piece = 0;  // The tensor's first piece.
    int64_t piece = next_++;
    for (size_t i = 0; i < findings_.size(); ++i) {
      const GgufTensor& tensor = file_.tensors()[i];
      const int64_t size = PieceBytes(tensor), pieces = CeilDiv(tensor.size, size);
      for (; piece < first_piece + pieces; piece = next_++) {
        const int64_t begin = (piece - first_piece) * size;
        const absl::Span<std::byte> bytes = absl::MakeSpan(buffer).first(std::min(size, tensor.size - begin));
        Scan(tensor, begin, bytes, findings_[i]);
        progress(done_ += static_cast<int64_t>(bytes.size()));
      }
      first_piece += pieces;
    }
  }

  // Returns one entry per tensor. REQUIRES: no thread is in Run.
  const std::vector<Findings>& findings() const { return findings_; }

 private:
  static int64_t PieceBytes(const GgufTensor& tensor) {
    return kReadAtOnce / tensor.format->bytes_per_block * tensor.format->bytes_per_block;
  }

  // Pieces come in any order; the finding with the lowest place counts.
  void Scan(const GgufTensor& tensor, int64_t begin, absl::Span<std::byte> bytes, Findings& findings) {
    const absl::Status read = file_.Read(tensor, begin, bytes);
    const NotFiniteBlocks bad = read.ok() ? FindNotFinite(tensor.format->format, bytes) : NotFiniteBlocks{};
    if (read.ok() && bad.count == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!read.ok() && (findings.first_unread < 0 || begin < findings.first_unread)) {
      findings.first_unread = begin;
      findings.read = read;
    }
    if (bad.count == 0) return;
    const int64_t first_bad = begin + bad.first * tensor.format->bytes_per_block;
    findings.first_bad = findings.bad_blocks == 0 ? first_bad : std::min(findings.first_bad, first_bad);
    findings.bad_blocks += bad.count;
  }

  const GgufFile& file_;
  std::atomic<int64_t> next_ = 0, done_ = 0;  // Pieces given out; bytes read.
  std::mutex mutex_;
  std::vector<Findings> findings_;  // Written under the mutex.
};

class Verifier {
 public:
  Verifier(const std::string& path, ThreadPool& pool) : path_(path), pool_(pool) {}

  VerifyReport Run(const std::function<void(int64_t, int64_t)>& progress) && {
    const auto model = ModelFile::Open(path_);
    if (!model.ok()) {
      Add(model.status());
      return std::move(report_);
    }
    const GgufFile& file = (*model)->gguf();
    CheckModel(**model);
    report_.tensors = static_cast<int>(file.tensors().size());
    if ((*model)->packed() != nullptr) {
      CheckUnits(*(*model)->packed(), progress);
      return std::move(report_);
    }
    for (const GgufTensor& tensor : file.tensors()) report_.tensor_bytes += tensor.size;
    report_.unused_bytes = file.unused_bytes();
    CheckNumbers(file, progress);
    return std::move(report_);
  }

 private:
  // Adds a problem. Messages begin with the path of the faulty file: the given file, or another part, whose path has the same length.
  void Add(const absl::Status& status, absl::string_view tensor = "", int64_t offset = -1) {
    const std::string message(status.message());
    const bool has_path = message.find(": ", path_.size()) == path_.size();
    report_.problems.push_back({has_path ? message.substr(0, path_.size()) : path_, std::string(tensor), offset, message});
  }

  void CheckModel(const ModelFile& model) {
    const GgufFile& file = model.gguf();
    const absl::Status tokenizer = ReadTokenizer(file).status();
    if (!tokenizer.ok()) Add(tokenizer);
    for (const bool with_tools : {false, true}) {
      if (!HasChatTemplate(file, with_tools)) continue;
      const absl::Status chat = ReadChatTemplate(file, with_tools).status();
      if (!chat.ok() && (report_.problems.empty() || report_.problems.back().message != chat.message())) Add(chat);
    }
    for (const RecommendedSampling::Wrong& each : ReadRecommendedSampling(file).wrong) Add(each.problem);
    const absl::StatusOr<ModelConfig> config = ReadModelConfig(file);
    if (!config.ok()) return Add(config.status());
    TensorCheck check = CheckTensors(file, *config);
    for (const TensorProblem& problem : check.problems) Add(problem.status, problem.tensor);
    if (check.problems.empty()) {
      const absl::Status planned = model.PlanWeights(*config, model.encoding()).status();
      if (!planned.ok()) Add(planned);
    }
    used_ = std::move(check.used);
    report_.unused_reasons = std::move(check.reasons);
    report_.unused_tensors = static_cast<int>(std::count(used_.begin(), used_.end(), false) + file.unread_tensors().size());
  }

  // Adds a problem for each block that differs from the written block.
  void CheckUnits(const TsrReader& reader, const std::function<void(int64_t, int64_t)>& progress) {
    for (int unit = 0; unit < reader.units(); ++unit) report_.tensor_bytes += reader.UnitBytes(unit);
    for (const TsrDamage& damage : FindDamage(reader, pool_, progress)) Add(damage.status, "", damage.offset);
  }

  // Adds at most two problems per tensor: the tensor cannot be read, and the tensor holds a value that is not finite.
  void CheckNumbers(const GgufFile& file, const std::function<void(int64_t, int64_t)>& progress) {
    Scanner scanner(file);
    const int64_t total = report_.tensor_bytes;
    pool_.Run([&](int worker) {
      scanner.Run([&](int64_t done) {
        if (worker == 0) progress(done, total);
      });
    });
    progress(total, total);
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      if (used_.empty() || used_[i]) AddFindings(file, file.tensors()[i], scanner.findings()[i]);
    }
  }

  void AddFindings(const GgufFile& file, const GgufTensor& tensor, const Findings& found) {
    if (!found.read.ok()) Add(found.read, tensor.name, tensor.offset);
    if (found.bad_blocks == 0) return;
    const int64_t first = tensor.offset + found.first_bad;
    const absl::Status bad = absl::InvalidArgumentError(
        absl::StrCat(file.PathOf(tensor), ": tensor ", Quoted(tensor.name), ": found a NaN or an infinity in ", found.bad_blocks,
                     " of ", tensor.size / tensor.format->bytes_per_block, " ", tensor.format->name,
                     tensor.format->values_per_block == 1 ? " values" : " blocks", ", the first at byte ", first,
                     ", expected finite numbers"));
    Add(bad, tensor.name, first);
  }

  const std::string path_;
  ThreadPool& pool_;
  VerifyReport report_;
  std::vector<bool> used_;  // Per tensor; empty if unknown.
};

}  // namespace

VerifyReport VerifyModel(const std::string& path, ThreadPool& pool,
                         const std::function<void(int64_t done, int64_t total)>& progress) {
  return Verifier(path, pool).Run(progress);
}

}  // namespace tessera
