#include "tessera/spec/drafters/history/history_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "tessera/base/file.h"
#include "tessera/base/folder_lock.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kLeastBytes = int64_t{64} << 10;

int MaxTokens(int64_t bytes) {
  return static_cast<int>(std::min<int64_t>(bytes / SuffixAutomaton::kMostBytesPerToken, INT32_MAX / 4));
}

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

// Returns whether the file's name is the store's name of the first version, which had 16 digits for the vocabulary.
bool IsOlder(absl::string_view file, absl::string_view name) {
  return absl::ConsumePrefix(&file, name) && absl::ConsumePrefix(&file, "-") && absl::ConsumeSuffix(&file, ".history") &&
         file.size() == 16 && std::all_of(file.begin(), file.end(), [](char c) { return absl::ascii_isxdigit(c); });
}

// Returns the newest texts, in at most `most` tokens. REQUIRES: the last is a separator.
absl::Span<const TokenId> WholeTexts(absl::Span<const TokenId> tokens, size_t most) {
  if (tokens.size() <= most) return tokens;
  const auto separator = std::find(tokens.end() - most - 1, tokens.end(), kSeparator);
  return tokens.subspan(separator - tokens.begin() + 1);
}

}  // namespace

HistoryStore::HistoryStore(std::string path, const std::string& name, const VocabularyId& vocabulary, const Options& options)
    : path_(std::move(path)), name_(name), vocabulary_(vocabulary), options_(options),
      texts_({.max_tokens = MaxTokens(options.max_bytes)}) {}

absl::StatusOr<std::unique_ptr<HistoryStore>> HistoryStore::Open(const std::string& folder, const std::string& name,
                                                                 const VocabularyId& vocabulary, const Options& options) {
  if (!IsName(name)) {
    return absl::InvalidArgumentError(absl::StrCat("history: found the name \"", name, "\", expected 1 to 64 letters, digits, '-' or '_'"));
  }
  if (options.max_bytes < kLeastBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("history: found ", options.max_bytes, " bytes of memory, expected at least ", kLeastBytes));
  }
  const std::string file = absl::StrCat(name, "-", vocabulary.sum.Hex(), ".history");
  const std::string path = (std::filesystem::path(folder) / file).string();
  auto store = std::unique_ptr<HistoryStore>(new HistoryStore(path, name, vocabulary, options));
  store->Load();
  return store;
}

// Reads the file; returns no tokens if there is no file.
absl::StatusOr<std::vector<TokenId>> HistoryStore::ReadFile() const {
  const absl::StatusOr<std::string> bytes = ReadFileToString(path_, options_.max_bytes);
  if (absl::IsNotFound(bytes.status())) return std::vector<TokenId>();
  if (!bytes.ok()) return bytes.status();
  return DecodeHistory(*bytes, path_, vocabulary_);
}

std::vector<std::string> HistoryStore::OlderPaths() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path(), error)) {
    if (IsOlder(file.path().filename().string(), name_)) paths.push_back(file.path().string());
  }
  return paths;
}

absl::Status HistoryStore::CheckOlder() const {
  for (const std::string& path : OlderPaths()) {
    const absl::StatusOr<std::string> bytes = ReadFileToString(path, options_.max_bytes);
    if (!bytes.ok()) return bytes.status();
    RETURN_IF_ERROR(CheckHistoryVersion(*bytes, path));
  }
  return absl::OkStatus();
}

void HistoryStore::Load() {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) ignored_ = CheckOlder();
  const absl::StatusOr<std::vector<TokenId>> tokens = ReadFile();
  if (!tokens.ok()) {
    ignored_ = tokens.status();
    return;
  }
  for (const TokenId token : WholeTexts(*tokens, MaxTokens(options_.max_bytes))) texts_.Extend(token);
}

void HistoryStore::KeepNewest(int64_t tokens) {
  const absl::Span<const TokenId> newest = WholeTexts(texts_.tokens(), tokens);
  const std::vector<TokenId> kept(newest.begin(), newest.end());
  texts_.Clear();
  ++generation_;
  for (const TokenId token : kept) texts_.Extend(token);
}

void HistoryStore::Add(absl::Span<const TokenId> prompt, absl::Span<const TokenId> answer) {
  std::vector<TokenId> text;
  if (options_.keep_prompts) text.assign(prompt.begin(), prompt.end());
  text.insert(text.end(), answer.begin(), answer.end());
  const bool known = std::all_of(text.begin(), text.end(), [&](TokenId token) { return token >= 0 && token < vocabulary_.size; });
  if (text.empty() || !known) return;
  const int64_t half = MaxTokens(options_.max_bytes) / 2;
  if (static_cast<int64_t>(text.size()) >= half) text.erase(text.begin(), text.end() - (half - 1));
  text.push_back(kSeparator);
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (static_cast<int64_t>(texts_.tokens().size() + text.size()) > 2 * half) KeepNewest(half);
  for (const TokenId token : text) CHECK(texts_.Extend(token));
  added_ += static_cast<int64_t>(text.size());
}

absl::Status HistoryStore::Save() {
  const std::lock_guard<std::mutex> file_lock(file_mutex_);
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder.string(), ": cannot make this folder: ", error.message()));
  bool locked = false;
  const auto save = [&] {
    locked = true;
    return SaveLocked();
  };
  const absl::Status status = WithFolderLocked(folder.string(), save, {.cancel = options_.cancel});
  return locked ? status : absl::Status(status.code(), absl::StrCat("history not saved: ", status.message()));
}

absl::Status HistoryStore::SaveLocked() {
  absl::StatusOr<std::vector<TokenId>> all = ReadFile();
  replaced_ = absl::OkStatus();
  if (absl::IsDataLoss(all.status())) {
    replaced_ = all.status();
    all.emplace();
  } else if (!all.ok()) {
    const bool of_another = absl::IsInvalidArgument(all.status());
    return absl::Status(of_another ? absl::StatusCode::kFailedPrecondition : all.status().code(),
                        absl::StrCat("history not saved: ", all.status().message()));
  }
  int64_t added = 0;
  Read([&](const SuffixAutomaton& texts, int64_t) {
    added = added_;
    const absl::Span<const TokenId> kept = texts.tokens();
    // Adds no text that is in the file, or was in the file and was cleared by another process. The oldest of the new ones may be forgotten
    // already.
    const size_t last = std::min<size_t>(kept.size(), added_ - saved_);
    all->insert(all->end(), kept.end() - last, kept.end());
  });
  RETURN_IF_ERROR(WriteFileAtomically(path_, EncodeHistory(vocabulary_, WholeTexts(*all, MaxTokens(options_.max_bytes)))));
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  saved_ = added;
  return absl::OkStatus();
}

absl::Status HistoryStore::Clear() {
  const std::lock_guard<std::mutex> file_lock(file_mutex_);
  {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    KeepNewest(0);
    saved_ = added_;
  }
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const absl::Status removed = WithFolderLocked(folder, [this] { return RemoveFile(); }, {.cancel = options_.cancel});
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;  // No folder: no file.
}

absl::Status HistoryStore::RemoveFile() {
  RemoveStaleTemporaryFiles(path_);
  std::error_code error, no_file;
  const std::filesystem::path behind = std::filesystem::canonical(path_, no_file);
  if (!no_file) std::filesystem::remove(behind, error);
  if (!error) std::filesystem::remove(path_, error);
  if (error) return absl::UnavailableError(absl::StrCat(path_, ": not removed: ", error.message()));
  for (const std::string& older : OlderPaths()) {
    std::filesystem::remove(older, error);
    if (error) return absl::UnavailableError(absl::StrCat(older, ": not removed: ", error.message()));
  }
  return absl::OkStatus();
}

void HistoryStore::Read(absl::FunctionRef<void(const SuffixAutomaton& texts, int64_t generation)> read) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  read(texts_, generation_);
}

absl::Status HistoryStore::replaced() const {
  const std::lock_guard<std::mutex> lock(file_mutex_);
  return replaced_;
}

int64_t HistoryStore::tokens() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return static_cast<int64_t>(texts_.tokens().size());
}

int64_t HistoryStore::bytes() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return texts_.bytes();
}

}  // namespace tessera
