#include "tessera/apps/cli/screen/request_progress.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/elapsed.h"

namespace tessera {
namespace {

constexpr int64_t kPauseNanos = 1'000'000'000;   // After this time without requests, the next ones are new work.

}  // namespace

RequestProgress::RequestProgress(int64_t total, const Options& options)
    : clock_(GivenOrRealClock(options.line.clock)), engine_(options.engine), idle_nanos_(clock_.NowNanos()) {
  if (!options.shows) return;
  line_.emplace("requests", total, options.line);
  if (engine_ != nullptr && ReadingNote::PassBytes(*engine_) > 0) {
    note_.emplace(ReadingNote::Of(*engine_), ReadingNote::PassBytes(*engine_), options.flash_bytes_per_second);
  }
  drawing_.emplace([this] { Draw(); });
}

RequestProgress::~RequestProgress() {
  if (drawing_.has_value()) drawing_->End();
  if (line_.has_value()) line_->Erase();
}

double RequestProgress::Seconds(int64_t now_nanos) const {
  return static_cast<double>(past_nanos_ + (under_way_ > 0 ? ElapsedNanos(begin_nanos_, now_nanos) : 0)) * 1e-9;
}

std::string RequestProgress::Speed(int64_t now_nanos) const {
  const double seconds = Seconds(now_nanos), speed = seconds > 0 ? static_cast<double>(tokens_) / seconds : 0;
  return seconds > 0 ? absl::StrFormat("%.*f tokens/s", speed < 99.95 ? 1 : 0, speed) : "";
}

void RequestProgress::SetUnderWay(int64_t requests) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now = clock_.NowNanos();
  if (under_way_ == 0) begin_nanos_ = now;
  if (under_way_ == 0 && now - idle_nanos_ >= kPauseNanos && line_.has_value()) line_->Postpone();
  if (requests == 0 && under_way_ > 0) past_nanos_ += ElapsedNanos(begin_nanos_, now);
  if (requests == 0) idle_nanos_ = now;
  under_way_ = requests;
}

void RequestProgress::Wrote(int64_t tokens) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tokens_ += tokens;
}

void RequestProgress::Count(End end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (end == End::kAnswered) ++answered_;
  if (end == End::kFailed) ++failed_;
  if (end == End::kUnended) ++unended_;
  if (end != End::kThere) return;
  ++there_;
  if (line_.has_value()) line_->Skip(1);
}

void RequestProgress::DropUnderWay() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now = clock_.NowNanos();
  ++there_;
  if (line_.has_value()) line_->Skip(1, ElapsedNanos(begin_nanos_, now));
  begin_nanos_ = now;
}

void RequestProgress::Say(absl::string_view lines) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (line_.has_value()) line_->Say(lines);
  else WriteError(lines);
}

void RequestProgress::Draw() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!line_.has_value() || under_way_ == 0) return;
  std::string detail = Speed(clock_.NowNanos());
  if (note_.has_value()) absl::StrAppend(&detail, "; ", note_->Text(ReadingNote::Of(*engine_)));
  line_->Update(answered_ + failed_ + there_, detail);
}

std::string RequestProgress::Summary() {
  if (drawing_.has_value()) drawing_->End();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (line_.has_value()) line_->Erase();
  const int64_t now = clock_.NowNanos(), unended = unended_ + under_way_;
  std::string text = absl::StrCat("requests: ", answered_, " answered");
  if (there_ > 0) absl::StrAppend(&text, ", ", there_, " answered before");
  if (failed_ > 0) absl::StrAppend(&text, ", ", failed_, failed_ == 1 ? " error" : " errors");
  if (unended > 0) absl::StrAppend(&text, ", ", unended, " not ended");
  absl::StrAppend(&text, "; ", tokens_, tokens_ == 1 ? " token, " : " tokens, ");
  if (const std::string speed = Speed(now); !speed.empty()) absl::StrAppend(&text, speed, ", ");
  const double seconds = Seconds(now);
  return absl::StrCat(text, absl::StrFormat("%.*f s\n", seconds < 10 ? 2 : seconds < 1000 ? 1 : 0, seconds));
}

}  // namespace tessera
