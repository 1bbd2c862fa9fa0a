#include "tessera/apps/answers/requests/request_run.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

RequestProgress::Options Shown(const AnswerFile* into, RequestProgress::Options options) {
  const bool text_is_seen = into == nullptr && isatty(STDOUT_FILENO) == 1;
  options.shows = options.shows && !text_is_seen && isatty(STDIN_FILENO) != 1;
  return options;
}

}  // namespace

RequestRun::RequestRun(AnswerFile* into, RequestProgress::Options options, Write write)
    : into_(into), write_(write != nullptr ? std::move(write) : [](const std::string& line) { return WriteOutput(line); }),
      progress_(CountInputLines(), Shown(into, std::move(options))) {}

absl::StatusOr<bool> RequestRun::Wants(const Request& request, absl::Span<const TokenId> prompt) {
  if (into_ == nullptr) return true;
  ASSIGN_OR_RETURN(const bool wanted, into_->Wants(request, prompt));
  if (wanted) return true;
  if (in_turn_) progress_.DropUnderWay();
  else progress_.Count(RequestProgress::End::kThere);
  return false;
}

void RequestRun::Begin() {
  in_turn_ = true;
  progress_.SetUnderWay(1);
}

void RequestRun::Ended() {
  in_turn_ = false;
  progress_.SetUnderWay(0);
}

absl::Status RequestRun::Answer(std::string line) {
  RETURN_IF_ERROR(into_ != nullptr ? into_->Add(line) : write_(std::move(line) + "\n"));
  progress_.Count(RequestProgress::End::kAnswered);
  return absl::OkStatus();
}

absl::Status RequestRun::Fail(std::string line, const absl::Status& error) {
  const bool is_cancelled = absl::IsCancelled(error);
  progress_.Count(is_cancelled ? RequestProgress::End::kUnended : RequestProgress::End::kFailed);
  if (into_ == nullptr) return write_(std::move(line) + "\n");
  if (!is_cancelled) progress_.Say(absl::StrCat(Printable(error.message()), "\n"));
  return absl::OkStatus();
}

absl::Status RequestRun::End(const absl::Status& status) {
  const std::string summary = progress_.Summary();
  const absl::StatusOr<uint64_t> seed = SeedOfFlag();
  WriteMessage(seed.ok() ? absl::StrCat(absl::StripSuffix(summary, "\n"), ", seed ", *seed, "\n") : summary);
  return into_ == nullptr ? status : EndOf(status, into_->Sync());
}

}  // namespace tessera
