#include "tessera/base/progress.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kRedraw = kSecond / 10;     // An eye cannot follow more.
constexpr int64_t kLogEvery = 5 * kSecond;

std::string Duration(double seconds) {
  const int64_t whole = static_cast<int64_t>(std::min(seconds + 0.5, 1e9));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d h", whole / 3600, whole / 60 % 60);
}

bool StderrHasRoom() {
  pollfd file = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&file, 1, 0) > 0;   // A file that is closed has room, too: its error comes at once.
}

}  // namespace

Progress::Progress(std::string label, int64_t total) : Progress(std::move(label), total, Options{}) {}

Progress::Progress(std::string label, int64_t total, const Options& options)
    : label_(std::move(label)), total_(total), clock_(&GivenOrRealClock(options.clock)), write_(options.write),
      to_stderr_(options.write == nullptr),
      terminal_(options.terminal == Options::kDetect ? isatty(STDERR_FILENO) == 1 : options.terminal == Options::kYes),
      begin_ns_(clock_->NowNanos()), shown_ns_(begin_ns_) {
  if (to_stderr_) write_ = [](absl::string_view text) { WriteAll(STDERR_FILENO, text); };
}

void Progress::Update(int64_t done, absl::string_view detail) {
  if (finished_) return;
  done_ = done;
  detail_ = std::string(detail);
  const int64_t now = clock_->NowNanos();
  shown_ns_ = std::min(shown_ns_, now);   // A clock that is set back does not keep the line from being shown.
  if (now - shown_ns_ >= (terminal_ ? kRedraw : kLogEvery)) Show(now);
}

void Progress::Skip(int64_t items, int64_t nanos) {
  skipped_ += items;
  begin_ns_ += nanos;
}

void Progress::Postpone() { shown_ns_ = clock_->NowNanos(); }

void Progress::Say(absl::string_view lines) {
  if (terminal_ && shown_ && !finished_) write_("\r\x1b[K");
  write_(lines);
}

void Progress::Finish() {
  if (finished_) return;
  const int64_t now = clock_->NowNanos();
  if (terminal_ || shown_) Show(now);
  if (terminal_) write_("\n");
  finished_ = true;
}

void Progress::Erase() {
  if (finished_) return;
  if (terminal_ && shown_) write_("\r\x1b[K");
  finished_ = true;
}

void Progress::Show(int64_t now_ns) {
  shown_ = true;
  shown_ns_ = now_ns;
  if (to_stderr_ && !StderrHasRoom()) return;
  // \r goes to the begin of the line; ESC [K clears the rest of a longer line. Between ESC [?7l and ESC [?7h a narrow terminal cuts the
  // line: a line that wraps could not be redrawn.
  write_(terminal_ ? absl::StrCat("\r\x1b[?7l", Line(now_ns), "\x1b[K\x1b[?7h") : absl::StrCat(Line(now_ns), "\n"));
}

std::string Progress::Line(int64_t now_ns) const {
  const double seconds = ElapsedSeconds(begin_ns_, now_ns);
  const double rate = seconds > 0 ? static_cast<double>(done_ - skipped_) / seconds : 0;
  std::string line = absl::StrCat(label_, ": ");
  if (total_ > 0) {
    absl::StrAppendFormat(&line, "%d %% (%d of %d)", static_cast<int>(100.0 * done_ / total_), done_, total_);
  } else {
    absl::StrAppend(&line, done_);
  }
  absl::StrAppendFormat(&line, ", %.*f/s", rate < 100 ? 1 : 0, rate);
  const bool more = total_ > done_ && rate > 0;
  absl::StrAppend(&line, ", ", more ? Duration((total_ - done_) / rate) : Duration(seconds), more ? " left" : "");
  if (!detail_.empty()) absl::StrAppend(&line, "; ", detail_);
  return line;
}

}  // namespace tessera
