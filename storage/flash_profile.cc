#include "tessera/storage/flash_profile.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/named_text.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/flash_profile_file.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = 1 << 20;
constexpr int64_t kMostBlockBytes = int64_t{1} << 30;
constexpr int kMostDepth = 1024;
constexpr double kMostMegabytesPerSecond = 1e6, kMostLatencyMicroseconds = 1e7;

constexpr NamedText kBuiltIn[] = {
#include "tessera/storage/profiles.inc"
};

// Keeps the first error that the parser reports.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ": ", Printable(message));   // The message quotes the text.
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <typename Number>
absl::Status CheckWithin(absl::string_view where, Number found, Number least, Number most) {
  if (found >= least && found <= most) return absl::OkStatus();  // NaN is not.
  return absl::InvalidArgumentError(absl::StrCat(where, ": found ", found, ", expected ", least, " to ", most));
}

auto Order(const FlashProfile::Speed& speed) { return std::make_tuple(speed.depth, speed.block_bytes); }

}  // namespace

absl::StatusOr<FlashProfileFile> ParseFlashProfileFile(absl::string_view text, absl::string_view source) {
  FlashProfileFile file;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &file)) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", error.text(), "; expected a flash profile (flash_profile.proto)"));
  }
  return file;
}

std::string FlashProfileText(const FlashProfileFile& file) {
  std::string text;
  CHECK(google::protobuf::TextFormat::PrintToString(file, &text));
  return text;
}

absl::StatusOr<FlashProfile> ProfileOf(const FlashProfileFile& file, absl::string_view source) {
  FlashProfile profile = {.name = file.name()};
  const auto field = [&](int i, absl::string_view name) { return absl::StrCat(source, ": speed[", i, "].", name); };
  for (int i = 0; i < file.speed_size(); ++i) {
    const FlashProfileFile::Speed& speed = file.speed(i);
    RETURN_IF_ERROR(CheckWithin<int64_t>(field(i, "block_bytes"), speed.block_bytes(), 1, kMostBlockBytes));
    RETURN_IF_ERROR(CheckWithin<int>(field(i, "depth"), speed.depth(), 1, kMostDepth));
    RETURN_IF_ERROR(
        CheckWithin<double>(field(i, "megabytes_per_second"), speed.megabytes_per_second(), 1e-3, kMostMegabytesPerSecond));
    profile.speeds.push_back({speed.block_bytes(), speed.depth(), speed.megabytes_per_second() * 1e6});
  }
  if (profile.speeds.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": speed: found none, expected one or more"));
  }
  RETURN_IF_ERROR(CheckWithin<double>(absl::StrCat(source, ": latency_microseconds"), file.latency_microseconds(), 0,
                                      kMostLatencyMicroseconds));
  profile.latency_nanos = std::llround(file.latency_microseconds() * 1e3);
  std::sort(profile.speeds.begin(), profile.speeds.end(), [](const auto& a, const auto& b) { return Order(a) < Order(b); });
  for (size_t i = 1; i < profile.speeds.size(); ++i) {
    const FlashProfile::Speed& speed = profile.speeds[i];
    if (Order(speed) != Order(profile.speeds[i - 1])) continue;
    return absl::InvalidArgumentError(absl::StrCat(source, ": speed: found two for blocks of ", speed.block_bytes, " at depth ",
                                                   speed.depth, ", expected one"));
  }
  return profile;
}

absl::StatusOr<FlashProfile> ParseFlashProfile(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const FlashProfileFile file, ParseFlashProfileFile(text, source));
  return ProfileOf(file, source);
}

std::vector<std::string> FlashProfileNames() { return NamesOf(kBuiltIn); }

absl::StatusOr<FlashProfile> LoadFlashProfile(const std::string& name_or_path) {
  ASSIGN_OR_RETURN(const std::string text, ReadNamedText("flash profile", name_or_path, kBuiltIn, kMostFileBytes));
  return ParseFlashProfile(text, name_or_path);
}

double FlashProfile::BytesPerSecond(int64_t block_bytes, int depth) const {
  CHECK(!speeds.empty() && block_bytes > 0 && depth > 0) << name;
  const auto beyond = [&](int d) {
    return std::find_if(speeds.begin(), speeds.end(), [d](const Speed& s) { return s.depth > d; });
  };
  const auto end = beyond(std::max(depth, speeds.front().depth));
  const int counts = std::prev(end)->depth;
  const auto begin = beyond(counts - 1);
  const auto above = std::find_if(begin, end, [&](const Speed& speed) { return speed.block_bytes >= block_bytes; });
  if (above == begin) return above->bytes_per_second;
  const auto below = std::prev(above);
  if (above == end) return below->bytes_per_second;
  const double whole = std::log2(static_cast<double>(above->block_bytes) / static_cast<double>(below->block_bytes));
  const double part = std::log2(static_cast<double>(block_bytes) / static_cast<double>(below->block_bytes));
  return below->bytes_per_second + part / whole * (above->bytes_per_second - below->bytes_per_second);
}

const FlashProfile::Speed& FlashProfile::Best() const {
  CHECK(!speeds.empty()) << name;
  return *std::max_element(speeds.begin(), speeds.end(),
                           [](const Speed& a, const Speed& b) { return a.bytes_per_second < b.bytes_per_second; });
}

}  // namespace tessera
