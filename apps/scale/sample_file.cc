#include "tessera/apps/scale/sample_file.h"

#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/scale/records.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

absl::Status SystemError(const std::string& path, const char* what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", what));
}

size_t HashOfText(absl::string_view text) { return absl::HashOf(text); }

void WriteMembers(const Sample& sample, JsonWriter& json) {
  json.Key("text").String(sample.text).Key("finish").String(sample.finish).Key("tokens").Int(sample.tokens);
  json.Key("mean_log_probability").Double(sample.mean_log_probability, 9).Key("self_certainty").Double(sample.self_certainty, 9);
}

}  // namespace

absl::Status CheckSampleSettings(const JsonValue& record, const std::string& settings) {
  ASSIGN_OR_RETURN(const std::string found, record.String("settings"));
  if (found == settings) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue value, record.Value("settings"));
  return value.Error(Printable(found), absl::StrCat(Printable(settings), ", those of this run"));
}

struct SampleFile::State {
  ~State() {
    if (file >= 0) close(file);
  }
  absl::Status Lock() const {
    struct stat about;
    if (fstat(file, &about) != 0) return SystemError(path, "examine");
    if (!S_ISREG(about.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": found no regular file, expected one"));
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    if (errno != EWOULDBLOCK) return SystemError(path, "lock");
    return absl::FailedPreconditionError(absl::StrCat(path, ": found another run that adds to it, expected none"));
  }
  // Reads what is there. A last line without an end goes.
  absl::Status Read() {
    constexpr int64_t kLargestFile = int64_t{256} << 20;
    ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kLargestFile));
    const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    if (whole < text.size() && ftruncate(file, static_cast<off_t>(whole)) != 0) return SystemError(path, "cut off half a line of");
    if (text.substr(0, whole).find_first_not_of(" \r\n") == std::string::npos) return absl::OkStatus();
    return ForEachRecord(path, [this](const JsonValue& record, int) { return Take(record); });
  }
  absl::Status Take(const JsonValue& record) {
    ASSIGN_OR_RETURN(const std::string id, record.String("id"));
    ASSIGN_OR_RETURN(const int64_t sample, record.Int("sample", 0, 1 << 20));
    RETURN_IF_ERROR(CheckSampleSettings(record, settings));
    ASSIGN_OR_RETURN(const std::string text, record.String("text"));
    if (has.emplace(std::pair(id, static_cast<int>(sample)), HashOfText(text)).second) return absl::OkStatus();
    ASSIGN_OR_RETURN(const JsonValue value, record.Value("sample"));
    return value.Error(absl::StrCat(sample, " of problem ", Quoted(id), " again"), "each once");
  }

  std::string path, settings;
  int file = -1;
  std::map<std::pair<std::string, int>, std::optional<size_t>> has = {};   // With the hash of the text, where it was there before.
};

SampleFile::SampleFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SampleFile::SampleFile(SampleFile&& other) noexcept = default;
SampleFile::~SampleFile() = default;

absl::StatusOr<SampleFile> SampleFile::Open(const std::string& path, const std::string& settings) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->settings = settings;
  state->file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);   // Not to wait for a FIFO's reader.
  if (state->file < 0) return SystemError(path, "open");
  RETURN_IF_ERROR(state->Lock());
  RETURN_IF_ERROR(state->Read());
  return SampleFile(std::move(state));
}

bool SampleFile::Has(absl::string_view id, int sample) const { return state_->has.contains({std::string(id), sample}); }

absl::Status SampleFile::CheckText(absl::string_view id, int sample, absl::string_view text) const {
  const auto found = state_->has.find({std::string(id), sample});
  if (found == state_->has.end() || !found->second.has_value() || *found->second == HashOfText(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(state_->path, ": sample ", sample, " of problem ", Quoted(id),
                                                 ": found another text, expected ", Quoted(text)));
}

int64_t SampleFile::size() const { return static_cast<int64_t>(state_->has.size()); }

absl::Status SampleFile::Add(const Sample& sample) {
  return Add(sample.id, sample.sample, [&](JsonWriter& json) { WriteMembers(sample, json); });
}

absl::Status SampleFile::Add(absl::string_view id, int sample, absl::FunctionRef<void(JsonWriter& json)> write) {
  JsonWriter json;
  json.BeginObject().Key("id").String(id).Key("sample").Int(sample);
  write(json);
  json.Key("settings").String(state_->settings).EndObject();
  if (const int error = WriteAll(state_->file, std::move(json).Take() + "\n"); error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat(state_->path, ": cannot write"));
  }
  state_->has.emplace(std::pair(std::string(id), sample), std::nullopt);
  return absl::OkStatus();
}

absl::Status SampleFile::Sync() { return fdatasync(state_->file) == 0 ? absl::OkStatus() : SystemError(state_->path, "sync"); }

}  // namespace tessera
