// Profiles of flash devices: a text is refused in words that name it and can be shown, or its speeds are finite, in order, each between
// those that were given, and the same after the profile was written and read again.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/flash_profile_file.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

constexpr char kName[] = "flash.textproto: ";
constexpr char kSource[] = "flash.textproto";

void CheckSpeeds(const FlashProfile& profile) {
  CHECK(!profile.speeds.empty() && profile.latency_nanos >= 0 && profile.latency_nanos <= int64_t{10'000'000'000});
  double least = profile.speeds[0].bytes_per_second;
  const FlashProfile::Speed* before = nullptr;
  for (const FlashProfile::Speed& speed : profile.speeds) {
    CHECK(speed.block_bytes >= 1 && speed.block_bytes <= int64_t{1} << 30 && speed.depth >= 1 && speed.depth <= 1024);
    CHECK(speed.bytes_per_second >= 1e3 && speed.bytes_per_second <= 1e12) << speed.bytes_per_second;
    CHECK(before == nullptr || std::pair(before->depth, before->block_bytes) < std::pair(speed.depth, speed.block_bytes));
    CHECK_EQ(profile.BytesPerSecond(speed.block_bytes, speed.depth), speed.bytes_per_second);
    least = std::min(least, speed.bytes_per_second);
    before = &speed;
  }
  const double most = profile.Best().bytes_per_second, slack = most * 1e-12;
  for (const int64_t bytes : {int64_t{1}, int64_t{4096}, int64_t{300'000}, int64_t{1} << 40}) {
    for (const int depth : {1, 3, 64, 100'000}) {
      const double speed = profile.BytesPerSecond(bytes, depth);
      CHECK(speed >= least - slack && speed <= most + slack) << speed << " of " << bytes << " at " << depth;
    }
  }
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const absl::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto file = ParseFlashProfileFile(text, kSource);
  const auto profile = ParseFlashProfile(text, kSource);
  if (!file.ok()) {
    CHECK(profile.status() == file.status()) << profile.status();
    return Refused(file.status(), kName);
  }
  if (!profile.ok()) return Refused(profile.status(), kName);
  CheckSpeeds(*profile);
  const auto again = ParseFlashProfile(FlashProfileText(*file), kSource);
  CHECK(again.ok()) << again.status();
  CHECK(again->name == profile->name && again->latency_nanos == profile->latency_nanos);
  CHECK_EQ(again->speeds.size(), profile->speeds.size());
  for (size_t i = 0; i < again->speeds.size(); ++i) {
    const FlashProfile::Speed &a = again->speeds[i], &b = profile->speeds[i];
    CHECK(a.block_bytes == b.block_bytes && a.depth == b.depth && a.bytes_per_second == b.bytes_per_second) << i;
  }
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"empty", ""}};
  const auto speed = [](absl::string_view bytes, absl::string_view depth, absl::string_view rate) {
    return absl::StrCat("speed { block_bytes: ", bytes, " depth: ", depth, " megabytes_per_second: ", rate, " source: 'a' }\n");
  };
  const std::string good = absl::StrCat("name: 'phone'\n", speed("4096", "1", "20.5"), speed("524288", "1", "900"),
                                        speed("524288", "8", "1.9e3"), "latency_microseconds: 80 latency_source: 'b'\n");
  const std::string measured = "measured { device: 64769 kernel: '6.1' io: 'auto' kind: 'io_uring' sequential_megabytes_per_second: 900"
                               " cpu_seconds_per_gib: 0.2 buffer_bytes: 33554432 file_system { id: 5 bytes: 6 kind: 61267 } }\n";
  seeds.push_back({"good", good});
  seeds.push_back({"measured", good + measured});
  for (size_t cut = 1; cut < good.size(); cut += 23) seeds.push_back({absl::StrCat("cut_", cut), good.substr(0, cut)});
  for (const char* number : {"0", "1", "-1", "1024", "1025", "1073741824", "1073741825", "9223372036854775808", "nan", "inf", "1e-9",
                             "'a'"}) {
    seeds.push_back({absl::StrCat("bytes_", seeds.size()), speed(number, "1", "5")});
    seeds.push_back({absl::StrCat("depth_", seeds.size()), speed("1", number, "5")});
    seeds.push_back({absl::StrCat("rate_", seeds.size()), speed("1", "1", number)});
    seeds.push_back({absl::StrCat("latency_", seeds.size()), absl::StrCat(speed("1", "1", "1"), "latency_microseconds: ", number)});
  }
  for (const char* more : {"name: '\\n\\377'", "unknown: 1", "speed {", "speed <>", "[a.b] { }", "#", "1: 2", "name: 'x' name: 'y'"}) {
    seeds.push_back({absl::StrCat("more_", seeds.size()), good + more});
  }
  seeds.push_back({"twice", good + good.substr(good.find('\n'))});
  return seeds;
}

}  // namespace tessera
