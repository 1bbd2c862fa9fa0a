#include "tessera/npu/device_profile.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/device_profile_text.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// "" if the text is accepted.
std::string Refusal(const std::string& text) {
  const absl::Status status = ParseDeviceProfile(text, "it").status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

// With this in place of the parameter.
std::string RefusalOf(absl::string_view name, absl::string_view rest) {
  return Refusal(DeviceProfileText(name) + ParameterText(name, rest));
}

std::string WithModes(absl::string_view modes) {
  const std::string text = DeviceProfileText();
  return absl::StrCat(text.substr(0, text.find("mode {")), modes);
}

std::string SourceText(absl::string_view path) {
  const auto text = ReadFileToString(absl::StrCat(TESSERA_SOURCE_DIR, "/", path), 1 << 20);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

int Count(absl::string_view text, absl::string_view word) {
  int found = 0;
  for (size_t at = text.find(word); at != absl::string_view::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(DeviceProfile, HeaderExample) {
  std::vector<std::string> printed;
  const auto Print = [&](const char* name, double value, const std::string& source) {
    printed.push_back(absl::StrCat(name, " ", value, " ", source));
  };
  const auto run = [&]() -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(DeviceProfile profile, LoadDeviceProfile("8gen3"));
    const double nanos_per_tile = 1e9 / profile.matrix_tiles_per_second;
    for (const ProfileField& field : ProfileFields()) Print(field.name, profile.*field.value, profile.facts.at(field.name).source);
    return nanos_per_tile;
  };
  const absl::StatusOr<double> nanos = run();
  ASSERT_TRUE(nanos.ok()) << nanos.status();
  EXPECT_NEAR(*nanos, 5.447, 0.001);  // 2 * 32 * 32 * 32 operations at 12.03254 TFLOPS.
  EXPECT_EQ(printed.size(), ProfileFields().size());
}

TEST(DeviceProfile, EveryBuiltInOneIsWholeAndSaysWhereEachNumberIsFrom) {
  EXPECT_EQ(DeviceProfileNames(), (std::vector<std::string>{"8elite", "8elite5", "8gen2", "8gen3", "iq9075", "xelite"}));
  for (const std::string& name : DeviceProfileNames()) {
    const absl::StatusOr<DeviceProfile> profile = LoadDeviceProfile(name);
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->name, name);
    EXPECT_FALSE(profile->chip.empty());
    EXPECT_EQ(profile->facts.size(), ProfileFields().size());
    for (const auto& [parameter, fact] : profile->facts) {
      EXPECT_GE(fact.source.size(), 10u) << name << ": " << parameter;
      EXPECT_FALSE(fact.assumed && fact.low == fact.high) << name << ": " << parameter << " is assumed, but may be nothing else";
    }
    EXPECT_EQ(profile->modes.front().name, "burst");
    EXPECT_GE(profile->modes.size(), 3u);
    for (size_t i = 1; i < profile->modes.size(); ++i) EXPECT_LT(profile->modes[i].clock, profile->modes[i - 1].clock) << name;
  }
}

// scripts/npu/fit_profiles.py replaces numbers in the text.
TEST(DeviceProfile, BuiltInOnesHaveALinePerNumber) {
  for (const std::string& name : DeviceProfileNames()) {
    const std::string text = SourceText(absl::StrCat("npu/profiles/", name, ".textproto"));
    for (const ProfileField& field : ProfileFields()) {
      EXPECT_EQ(Count(text, absl::StrCat("\nparameter {\n  name: \"", field.name, "\"\n  value: ")), 1) << name << ": " << field.name;
    }
  }
}

TEST(DeviceProfile, TheTableHasEachNumberOfTheStructOnce) {
  DeviceProfile profile;
  double next = 1;
  for (const ProfileField& field : ProfileFields()) profile.*field.value = next++;
  std::set<std::string> names;
  next = 1;
  for (const ProfileField& field : ProfileFields()) {
    EXPECT_EQ(profile.*field.value, next++) << field.name << " has the place of another";
    names.insert(field.name);
    EXPECT_LT(field.least, field.most) << field.name;
    EXPECT_NE(std::string(field.unit), "") << field.name;
  }
  EXPECT_EQ(names.size(), ProfileFields().size());
  // The members are the lines that begin so, one each.
  const std::string header = SourceText("npu/device_profile.h");
  const size_t begin = header.find("struct DeviceProfile {"), end = header.find("struct Mode {");
  ASSERT_TRUE(begin < end && end != std::string::npos);
  const std::string members_text = header.substr(begin, end - begin);
  std::set<std::string> members;
  for (absl::string_view line : absl::StrSplit(members_text, '\n')) {
    if (!absl::StartsWith(line, "  double ")) continue;
    line.remove_prefix(9);
    members.insert(std::string(line.substr(0, line.find(' '))));
  }
  EXPECT_EQ(members, names);
}

TEST(DeviceProfile, HasTheFieldsOfItsText) {
  const std::string text = DeviceProfileText("tcm_bytes") +
                           ParameterText("tcm_bytes", "value: 8388608 assumed: true low: 4194304 high: 16777216 source: 'guessed'");
  const absl::StatusOr<DeviceProfile> profile = ParseDeviceProfile(text, "it");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->name, "fake");
  EXPECT_EQ(profile->chip, "none");
  EXPECT_EQ(profile->tcm_bytes, 8388608);
  EXPECT_EQ(profile->dma_bytes_per_second, 1e13);
  const ProfileFact& guessed = profile->facts.at("tcm_bytes");
  EXPECT_EQ(guessed.source, "guessed");
  EXPECT_TRUE(guessed.assumed && !guessed.fitted);
  EXPECT_EQ(guessed.low, 4194304);
  EXPECT_EQ(guessed.high, 16777216);
  const ProfileFact& measured = profile->facts.at("dma_bytes_per_second");
  EXPECT_TRUE(!measured.assumed && !measured.fitted);
  EXPECT_EQ(measured.low, 1e13);
  EXPECT_EQ(measured.high, 1e13);
  ASSERT_EQ(profile->modes.size(), 2u);
  EXPECT_EQ(profile->modes[1].name, "slow");
  EXPECT_EQ(profile->modes[1].clock, 0.5);
  EXPECT_EQ(profile->modes[1].power, 0.25);
}

TEST(DeviceProfile, NumbersBeyondSenseAreRefusedForEachParameter) {
  for (const ProfileField& field : ProfileFields()) {
    const std::string begin = absl::StrCat("it: ", field.name, ".value: found ");
    for (const std::string bad : {"-1", "nan", "inf", "-inf", "1e300", "-1e-300"}) {
      const std::string message = RefusalOf(field.name, "value: " + bad + " source: 'none'");
      EXPECT_TRUE(absl::StartsWith(message, begin)) << bad << ": " << message;
      EXPECT_TRUE(absl::EndsWith(message, absl::StrCat(", expected ", field.least, " to ", field.most))) << bad << ": " << message;
    }
    const bool may_be_nothing = field.least == 0;
    EXPECT_EQ(RefusalOf(field.name, "value: 0 source: 'none'").empty(), may_be_nothing) << field.name;
    EXPECT_TRUE(absl::StartsWith(RefusalOf(field.name, "source: 'none'"), begin + "none")) << field.name;
  }
}

TEST(DeviceProfile, AllThatIsMissingIsNamed) {
  EXPECT_EQ(Refusal(DeviceProfileText()), "");
  EXPECT_EQ(Refusal(DeviceProfileText("row_packets")), "it: found no row_packets, expected each parameter once");
  const std::string none = Refusal("name: 'fake' chip: 'none'");
  for (const ProfileField& field : ProfileFields()) EXPECT_TRUE(absl::StrContains(none, absl::StrCat("no ", field.name, ","))) << none;
}

TEST(DeviceProfile, UnknownNamesAndNamesTwiceAreRefused) {
  const std::string rest = "value: 1 source: 'none'";
  const std::string where = absl::StrCat("it: parameter[", ProfileFields().size(), "].name: found ");
  EXPECT_EQ(Refusal(DeviceProfileText() + ParameterText("tcm_byte", rest)),
            where + "\"tcm_byte\", expected a parameter's name, such as tcm_bytes");
  EXPECT_EQ(Refusal(DeviceProfileText() + ParameterText("zebra", rest)), where + "\"zebra\", expected a parameter's name");
  EXPECT_EQ(Refusal(DeviceProfileText() + ParameterText("", rest)), where + "\"\", expected a parameter's name");
  EXPECT_EQ(Refusal(DeviceProfileText() + ParameterText("row_packets", rest)), "it: row_packets: found it twice, expected it once");
}

TEST(DeviceProfile, EachNumberHasASource) {
  const std::string expected = "expected printable text of 1 to 1000 bytes";
  EXPECT_EQ(RefusalOf("row_packets", "value: 1"), "it: row_packets.source: found \"\", " + expected);
  EXPECT_EQ(RefusalOf("row_packets", "value: 1 source: '  '"), "it: row_packets.source: found \"  \", " + expected);
  for (const std::string& source : {std::string("\\033[2J"), std::string("\\n"), std::string("\\377"), std::string(1001, 'x')}) {
    const std::string message = RefusalOf("row_packets", "value: 1 source: '" + source + "'");
    EXPECT_TRUE(absl::StartsWith(message, "it: row_packets.source: found \"")) << message;
    EXPECT_TRUE(absl::EndsWith(message, expected)) << message;
  }
}

TEST(DeviceProfile, AnAssumedNumberHasARangeThatHoldsTheNumber) {
  const auto refusal = [](absl::string_view rest) { return RefusalOf("row_packets", absl::StrCat("value: 5 source: 'none' ", rest)); };
  EXPECT_EQ(refusal("assumed: true low: 4 high: 6"), "");
  EXPECT_EQ(refusal("assumed: true low: 5 high: 5"), "");
  EXPECT_EQ(refusal("fitted: true low: 4 high: 6"), "");
  EXPECT_EQ(refusal("fitted: true"), "");
  const std::string where = "it: row_packets";
  EXPECT_EQ(refusal("assumed: true"), where + ": found 0 of low and high, expected both, since it is assumed");
  EXPECT_EQ(refusal("assumed: true low: 4"), where + ": found 1 of low and high, expected both, since it is assumed");
  EXPECT_EQ(refusal("fitted: true high: 6"), where + ": found 1 of low and high, expected both or none");
  EXPECT_EQ(refusal("low: 4 high: 6"), where + ": found 2 of low and high, expected none, since it is neither assumed nor fitted");
  EXPECT_EQ(refusal("assumed: true fitted: true low: 4 high: 6"), where + ": found both assumed and fitted, expected one of them at most");
  EXPECT_EQ(refusal("assumed: true low: 5.5 high: 6"), where + ".low: found 5.5, expected 0.1 to 5");
  EXPECT_EQ(refusal("assumed: true low: 0 high: 6"), where + ".low: found 0, expected 0.1 to 5");
  EXPECT_EQ(refusal("assumed: true low: 4 high: 4.5"), where + ".high: found 4.5, expected 5 to 100000");
  EXPECT_EQ(refusal("fitted: true low: 4 high: inf"), where + ".high: found inf, expected 5 to 100000");
  EXPECT_EQ(refusal("assumed: true low: nan high: 6"), where + ".low: found nan, expected 0.1 to 5");
}

TEST(DeviceProfile, ALookupIsAPartOfSoftmax) {
  const std::string text = DeviceProfileText("softmax_packets") + ParameterText("softmax_packets", "value: 40 source: 'none'");
  EXPECT_EQ(Refusal(text), "it: gather_packets.value: found 100000, expected 0 to 40");
}

TEST(DeviceProfile, WrongModesAreRefusedByField) {
  const std::string first = "mode { name: 'a' clock: 1 power: 1 source: 'none' }";
  const auto second = [&](const std::string& mode) { return Refusal(WithModes(absl::StrCat(first, "mode { ", mode, " }"))); };
  EXPECT_EQ(Refusal(WithModes("")), "it: mode: found 0, expected 1 to 16");
  EXPECT_EQ(Refusal(WithModes(first)), "");
  std::string many;
  for (int i = 0; i < 17; ++i) absl::StrAppend(&many, "mode { name: 'm", i, "' clock: 1 power: 1 source: 'none' }");
  EXPECT_EQ(Refusal(WithModes(many)), "it: mode: found 17, expected 1 to 16");
  EXPECT_EQ(Refusal(WithModes("mode { name: 'a' clock: 0.5 power: 1 source: 'none' }")),
            "it: mode[0]: found clock 0.5 and power 1, expected 1 and 1, since it is the first");
  EXPECT_EQ(second("name: 'b' clock: 1.5 power: 2 source: 'none'"), "");
  EXPECT_EQ(second("name: 'a' clock: 0.5 power: 1 source: 'none'"),
            "it: mode[1].name: found \"a\", expected another than those before");
  EXPECT_EQ(second("name: 'b' clock: 1.6 power: 1 source: 'none'"), "it: mode[1].clock: found 1.6, expected 0.01 to 1.5");
  EXPECT_EQ(second("name: 'b' clock: nan power: 1 source: 'none'"), "it: mode[1].clock: found nan, expected 0.01 to 1.5");
  EXPECT_EQ(second("name: 'b' power: 1 source: 'none'"), "it: mode[1].clock: found 0, expected 0.01 to 1.5");
  EXPECT_EQ(second("name: 'b' clock: 1 power: -1 source: 'none'"), "it: mode[1].power: found -1, expected 0.001 to 10");
  EXPECT_EQ(second("name: 'b' clock: 1 power: 1"), "it: mode[1].source: found \"\", expected printable text of 1 to 1000 bytes");
  EXPECT_EQ(second("clock: 1 power: 1 source: 'none'"), "it: mode[1].name: found \"\", expected printable text of 1 to 64 bytes");
}

TEST(DeviceProfile, AnInvalidProfileIsRefusedWithItsLine) {
  EXPECT_EQ(Refusal(""), "it: name: found \"\", expected printable text of 1 to 64 bytes");
  EXPECT_EQ(Refusal("name: 'fake'"), "it: chip: found \"\", expected printable text of 1 to 1000 bytes");
  for (const std::string wrong : {"colour: 3", "name: 3", "parameter { value: 'x' }", "parameter {", "\001\377", "mode: 1",
                                  "parameter { value: 0 value: 5 }", "parameter { low: 1 low: 2 }"}) {
    const std::string message = Refusal("chip: 'none'\n" + wrong);
    EXPECT_TRUE(absl::StartsWith(message, "it: line 2: ")) << wrong << ": " << message;
    EXPECT_TRUE(absl::EndsWith(message, "; expected a device profile (device_profile.proto)")) << message;
  }
  EXPECT_TRUE(absl::StartsWith(Refusal(DeviceProfileText() + "name: 'again'"), "it: line ")) << "a name twice";
}

TEST(DeviceProfile, AModeChangesTheUnitsAndNothingElse) {
  const std::string hertz = ParameterText("vector_hertz", "value: 2e9 assumed: true low: 1e9 high: 4e9 source: 'none'");
  const DeviceProfile profile = *ParseDeviceProfile(DeviceProfileText("vector_hertz") + hertz, "it");
  const absl::StatusOr<DeviceProfile> slow = InMode(profile, "slow");
  ASSERT_TRUE(slow.ok()) << slow.status();
  const std::set<std::string> rates = {"matrix_tiles_per_second", "vector_hertz"}, watts = {"matrix_watts", "vector_watts"};
  for (const ProfileField& field : ProfileFields()) {
    const double factor = rates.count(field.name) > 0 ? 0.5 : watts.count(field.name) > 0 ? 0.25 : 1;
    EXPECT_EQ((*slow).*field.value, factor * (profile.*field.value)) << field.name;
    EXPECT_EQ(slow->facts.at(field.name).low, factor * profile.facts.at(field.name).low) << field.name;
    EXPECT_EQ(slow->facts.at(field.name).high, factor * profile.facts.at(field.name).high) << field.name;
  }
  EXPECT_EQ(slow->facts.at("vector_hertz").low, 0.5e9);
  ASSERT_EQ(slow->modes.size(), 1u);
  EXPECT_EQ(slow->modes[0].name, "slow");
  EXPECT_EQ(slow->modes[0].clock, 1);
  EXPECT_EQ(slow->modes[0].power, 1);
  EXPECT_EQ(InMode(*slow, "slow")->vector_hertz, slow->vector_hertz);
  EXPECT_EQ(InMode(profile, "fast")->vector_hertz, profile.vector_hertz);
  const absl::Status unknown = InMode(profile, "turbo").status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown));
  EXPECT_EQ(unknown.message(), "fake: mode: found \"turbo\", expected one of fast, slow");
}

TEST(DeviceProfile, IsReadFromAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("mine.textproto");
  ASSERT_EQ(WriteFileAtomically(path, DeviceProfileText()), absl::OkStatus());
  const absl::StatusOr<DeviceProfile> profile = LoadDeviceProfile(path);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->name, "fake");
  ASSERT_EQ(WriteFileAtomically(path, "name: ''"), absl::OkStatus());
  EXPECT_TRUE(absl::StartsWith(LoadDeviceProfile(path).status().message(), path + ": name: found "));
  const absl::Status missing = LoadDeviceProfile("8gen9").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_EQ(missing.message(),
            "device profile: found \"8gen9\", expected a file or one of 8elite, 8elite5, 8gen2, 8gen3, iq9075, xelite");
}

}  // namespace
}  // namespace tessera
