// Device profiles: a text is refused in words that name it and can be shown, or each number lies in its parameter's range and in that which
// its source gives, a power mode changes the units' rates and watts alone, and the same text gives the same profile.
//
// An input's first byte says whether a whole text follows, or what stands in place of one parameter of a good text, which the second byte
// chooses.
#include <cmath>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/npu/device_profile.h"
#include "tessera/tests/fakes/device_profile_text.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kName[] = "phone.textproto";
constexpr int kText = 0, kPlaced = 1, kKinds = 2;

void CheckNumbers(const DeviceProfile& profile) {
  CHECK_EQ(profile.facts.size(), ProfileFields().size());
  for (const ProfileField& field : ProfileFields()) {
    const double value = profile.*field.value;
    const ProfileFact& fact = profile.facts.at(field.name);
    CHECK(value >= field.least && value <= field.most) << field.name << ": " << value;
    CHECK(fact.low >= field.least && fact.low <= value && value <= fact.high && fact.high <= field.most) << field.name;
    CHECK(!fact.source.empty() && IsPrintableUtf8(fact.source)) << field.name;
    CHECK(!fact.assumed || !fact.fitted) << field.name;
    CHECK(fact.assumed || fact.fitted || fact.low == fact.high) << field.name;
  }
}

// All but the units' rates and watts, and the modes.
void CheckSameElsewhere(const DeviceProfile& found, const DeviceProfile& expected) {
  CHECK(found.name == expected.name && found.chip == expected.chip);
  for (const ProfileField& field : ProfileFields()) {
    const absl::string_view name = field.name;
    if (name == "matrix_tiles_per_second" || name == "vector_hertz" || name == "matrix_watts" || name == "vector_watts") continue;
    const ProfileFact &fact = found.facts.at(field.name), &other = expected.facts.at(field.name);
    CHECK_EQ(found.*field.value, expected.*field.value) << field.name;
    CHECK(fact.source == other.source && fact.low == other.low && fact.high == other.high) << field.name;
  }
}

void CheckModes(const DeviceProfile& profile) {
  CHECK(!profile.modes.empty() && profile.modes[0].clock == 1 && profile.modes[0].power == 1);
  for (const DeviceProfile::Mode& mode : profile.modes) {
    const auto changed = InMode(profile, mode.name);
    CHECK(changed.ok()) << changed.status();
    CHECK_EQ(changed->matrix_tiles_per_second, profile.matrix_tiles_per_second * mode.clock);
    CHECK_EQ(changed->vector_hertz, profile.vector_hertz * mode.clock);
    CHECK_EQ(changed->matrix_watts, profile.matrix_watts * mode.power);
    CHECK_EQ(changed->vector_watts, profile.vector_watts * mode.power);
    CHECK(changed->matrix_tiles_per_second > 0 && std::isfinite(changed->vector_hertz));
    CHECK_EQ(changed->modes.size(), 1u);
    CheckSameElsewhere(*changed, profile);
  }
  CHECK(absl::IsInvalidArgument(InMode(profile, "\n").status()));   // No name is such.
}

absl::Status UseText(const std::string& text) {
  const auto profile = ParseDeviceProfile(text, kName);
  const auto again = ParseDeviceProfile(text, kName);
  CHECK(again.status() == profile.status()) << again.status();
  if (!profile.ok()) {
    const absl::Status& status = profile.status();
    CHECK(absl::IsInvalidArgument(status)) << status;
    CHECK(absl::StartsWith(status.message(), absl::StrCat(kName, ": "))) << status;
    CHECK(Printable(status.message()) == status.message()) << status;
    return status;
  }
  CheckNumbers(*profile);
  CheckModes(*profile);
  CheckSameElsewhere(*again, *profile);
  return absl::OkStatus();
}

std::string NameOf(size_t parameter) { return ProfileFields()[parameter % ProfileFields().size()].name; }

std::string Placed(size_t parameter, const std::string& text) {
  const char begin[] = {static_cast<char>(kPlaced), static_cast<char>(parameter)};
  return std::string(begin, sizeof(begin)) + text;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  FuzzBytes bytes(input);
  if (bytes.Below(kKinds) == kText) return UseText(bytes.Rest());
  const std::string without = NameOf(static_cast<size_t>(bytes.Below(256)));
  return UseText(DeviceProfileText(without) + bytes.Rest());
}

std::vector<FuzzSeed> Seeds() {
  const std::string whole(1, static_cast<char>(kText)), text = DeviceProfileText();
  std::vector<FuzzSeed> seeds = {{"whole", whole + text}, {"twice", whole + text + text}, {"nothing", whole}};
  for (size_t cut = 1; cut < text.size(); cut += 97) seeds.push_back({absl::StrCat("cut_", cut), whole + text.substr(0, cut)});
  const std::string rests[] = {
      "value: 5 source: 'a'", "value: 0 source: 'a'", "value: -1 source: 'a'", "value: nan source: 'a'", "value: inf source: 'a'",
      "value: 1e400 source: 'a'", "value: 1e-320 source: 'a'", "source: 'a'", "value: 5", "value: 1 low: 1 source: 'a'",
      "value: 1 assumed: true low: 1 high: 1 source: 'a'", "value: 1 fitted: true low: nan high: 1 source: 'a'",
      "value: 1 assumed: true source: 'a'", "value: 1 assumed: true fitted: true source: 'a'", "value: 1 value: 1 source: 'a'",
      "value: 1 source: '\\377'", "values: 1"};
  for (size_t parameter = 0; parameter < ProfileFields().size(); ++parameter) {
    const std::string name = NameOf(parameter);
    seeds.push_back({name + "_missing", Placed(parameter, "")});
    for (size_t i = 0; i < std::size(rests); ++i) {
      seeds.push_back({absl::StrCat(name, "_", i), Placed(parameter, ParameterText(name, rests[i]))});
    }
  }
  const std::string good = ParameterText(NameOf(0), "value: 1e6 source: 'a'");
  const std::string more[] = {
      "mode { name: 'fast' clock: 1 power: 1 source: 'a' }", "mode { name: 'b' clock: 2 power: 1 source: 'a' }",
      "mode { name: 'b' clock: .01 power: 10 source: 'a' }", "mode { name: '\\n' clock: 1 power: 1 source: 'a' }", "mode { }",
      "name: 'twice'", "parameter { }", "parameter { name: 'row_packet' }", good, "mode <", "#", "[a.b]: 1"};
  for (size_t i = 0; i < std::size(more); ++i) seeds.push_back({absl::StrCat("more_", i), Placed(0, good + more[i])});
  return seeds;
}

}  // namespace tessera
