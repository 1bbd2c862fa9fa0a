#include "tessera/npu/device_profile.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/named_text.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/device_profile.pb.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = 1 << 20;
constexpr size_t kMostNameBytes = 64, kMostSourceBytes = 1000;
constexpr int kMostModes = 16;
constexpr double kLeastClock = 0.01, kMostClock = 1.5, kLeastPower = 0.001, kMostPower = 10;

constexpr NamedText kBuiltIn[] = {
#include "tessera/npu/profiles.inc"
};

// The ranges leave room for devices that do not exist yet, and end long before numbers that would make time overflow. Numbers that may be
// nothing, such as the time of a call, may be 0.
constexpr ProfileField kFields[] = {
    {"matrix_tiles_per_second", &DeviceProfile::matrix_tiles_per_second, 1e5, 1e12, "tiles/s"},
    {"matrix_integer_speedup", &DeviceProfile::matrix_integer_speedup, 0.25, 64, "times"},
    {"matrix_efficiency", &DeviceProfile::matrix_efficiency, 0.01, 1, "share"},
    {"vector_threads", &DeviceProfile::vector_threads, 1, 64, "threads"},
    {"vector_hertz", &DeviceProfile::vector_hertz, 1e7, 1e11, "packets/s"},
    {"dequantize_packets", &DeviceProfile::dequantize_packets, 1, 1e5, "packets"},
    {"dequantize_group_packets", &DeviceProfile::dequantize_group_packets, 1, 1e5, "packets"},
    {"dequantize_scatter_packets", &DeviceProfile::dequantize_scatter_packets, 1, 1e5, "packets"},
    {"dequantize_static_packets", &DeviceProfile::dequantize_static_packets, 1, 1e5, "packets"},
    {"softmax_packets", &DeviceProfile::softmax_packets, 1, 1e5, "packets"},
    {"gather_packets", &DeviceProfile::gather_packets, 0, 1e5, "packets"},
    {"softmax_integer_packets", &DeviceProfile::softmax_integer_packets, 1, 1e5, "packets"},
    {"row_packets", &DeviceProfile::row_packets, 0.1, 1e5, "packets"},
    {"row_integer_packets", &DeviceProfile::row_integer_packets, 0.1, 1e5, "packets"},
    {"tcm_bytes", &DeviceProfile::tcm_bytes, 1e5, 1e11, "bytes"},
    {"dma_bytes_per_second", &DeviceProfile::dma_bytes_per_second, 1e7, 1e13, "bytes/s"},
    {"vector_bytes_per_second", &DeviceProfile::vector_bytes_per_second, 1e7, 1e13, "bytes/s"},
    {"ddr_bytes_per_second", &DeviceProfile::ddr_bytes_per_second, 1e7, 1e13, "bytes/s"},
    {"session_bytes", &DeviceProfile::session_bytes, 1e6, 1e14, "bytes"},
    {"call_seconds", &DeviceProfile::call_seconds, 0, 10, "s"},
    {"operator_seconds", &DeviceProfile::operator_seconds, 0, 1, "s"},
    {"mailbox_seconds", &DeviceProfile::mailbox_seconds, 0, 10, "s"},
    {"kernel_seconds", &DeviceProfile::kernel_seconds, 0, 1, "s"},
    {"load_seconds", &DeviceProfile::load_seconds, 0, 1000, "s"},
    {"load_bytes_per_second", &DeviceProfile::load_bytes_per_second, 1e5, 1e13, "bytes/s"},
    {"switch_seconds", &DeviceProfile::switch_seconds, 0, 100, "s"},
    {"cpu_products_per_second", &DeviceProfile::cpu_products_per_second, 1e6, 1e16, "products/s"},
    {"cpu_bytes_per_second", &DeviceProfile::cpu_bytes_per_second, 1e6, 1e13, "bytes/s"},
    {"cpu_scores_per_second", &DeviceProfile::cpu_scores_per_second, 1e6, 1e16, "products/s"},
    {"draft_seconds", &DeviceProfile::draft_seconds, 0, 10, "s"},
    {"calibrate_seconds", &DeviceProfile::calibrate_seconds, 0, 10, "s"},
    {"idle_watts", &DeviceProfile::idle_watts, 0, 1000, "W"},
    {"matrix_watts", &DeviceProfile::matrix_watts, 0, 1000, "W"},
    {"vector_watts", &DeviceProfile::vector_watts, 0, 1000, "W"},
    {"dma_watts", &DeviceProfile::dma_watts, 0, 1000, "W"},
    {"cpu_watts", &DeviceProfile::cpu_watts, 0, 1000, "W"},
    {"flash_watts", &DeviceProfile::flash_watts, 0, 1000, "W"},
};

// Suggests a field for a name that a message type does not have: the parser's message has type and name, each in quotes.
std::string MeantField(absl::string_view message) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4 || !absl::StrContains(parts[2], "has no field named")) return "";
  const google::protobuf::Descriptor* const type = DeviceProfileFile::descriptor()->file()->pool()->FindMessageTypeByName(parts[1]);
  if (type == nullptr) return "";
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.emplace_back(type->field(i)->name());
  return DidYouMean(parts[3], names);
}

// Keeps the first error that the parser reports.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ": ", Printable(message), MeantField(message));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::StatusOr<DeviceProfileFile> ParseFile(absl::string_view text, absl::string_view source) {
  DeviceProfileFile file;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &file)) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", error.text(), "; expected a device profile (device_profile.proto)"));
  }
  return file;
}

absl::Status Refused(absl::string_view where, const absl::AlphaNum& found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": found ", found, ", expected ", expected));
}

absl::Status CheckNumber(absl::string_view where, double found, double least, double most) {
  if (found >= least && found <= most) return absl::OkStatus();  // NaN is not.
  return Refused(where, found, absl::StrCat(least, " to ", most));
}

// Texts are shown to people, so a text must not be empty and must not control a terminal.
absl::Status CheckText(absl::string_view where, absl::string_view found, size_t most_bytes) {
  const bool says_something = !absl::StripAsciiWhitespace(found).empty();
  if (says_something && found.size() <= most_bytes && IsPrintableUtf8(found)) return absl::OkStatus();
  return Refused(where, Quoted(found), absl::StrCat("printable text of 1 to ", most_bytes, " bytes"));
}

const ProfileField* FieldNamed(absl::string_view name) {
  const auto found = std::find_if(std::begin(kFields), std::end(kFields), [&](const ProfileField& field) { return field.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

absl::Status UnknownName(absl::string_view where, const std::string& name) {
  std::vector<std::string> names;
  for (const ProfileField& field : kFields) names.push_back(field.name);
  const std::string meant = NearestName(name, names);
  return Refused(where, Quoted(name), absl::StrCat("a parameter's name", meant.empty() ? "" : ", such as ", meant));
}

// A range is required for an assumed number, optional for a fitted number, and forbidden for a measured number.
absl::Status CheckRange(absl::string_view where, const DeviceProfileFile::Parameter& parameter, const ProfileField& field) {
  const int ends = (parameter.has_low() ? 1 : 0) + (parameter.has_high() ? 1 : 0);
  if (parameter.assumed() && ends != 2) return Refused(where, absl::StrCat(ends, " of low and high"), "both, since it is assumed");
  if (parameter.fitted() && ends == 1) return Refused(where, "1 of low and high", "both or none");
  if (!parameter.assumed() && !parameter.fitted() && ends != 0) {
    return Refused(where, absl::StrCat(ends, " of low and high"), "none, since it is neither assumed nor fitted");
  }
  if (ends == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNumber(absl::StrCat(where, ".low"), parameter.low(), field.least, parameter.value()));
  return CheckNumber(absl::StrCat(where, ".high"), parameter.high(), parameter.value(), field.most);
}

absl::StatusOr<ProfileFact> FactOf(const DeviceProfileFile::Parameter& parameter, const ProfileField& field, absl::string_view where) {
  if (!parameter.has_value()) return Refused(absl::StrCat(where, ".value"), "none", "a number");
  RETURN_IF_ERROR(CheckNumber(absl::StrCat(where, ".value"), parameter.value(), field.least, field.most));
  RETURN_IF_ERROR(CheckText(absl::StrCat(where, ".source"), parameter.source(), kMostSourceBytes));
  if (parameter.assumed() && parameter.fitted()) return Refused(where, "both assumed and fitted", "one of them at most");
  RETURN_IF_ERROR(CheckRange(where, parameter, field));
  return ProfileFact{.source = parameter.source(),
                     .assumed = parameter.assumed(),
                     .fitted = parameter.fitted(),
                     .low = parameter.has_low() ? parameter.low() : parameter.value(),
                     .high = parameter.has_high() ? parameter.high() : parameter.value()};
}

absl::Status ReadParameters(const DeviceProfileFile& file, absl::string_view source, DeviceProfile* profile) {
  for (int i = 0; i < file.parameter_size(); ++i) {
    const DeviceProfileFile::Parameter& parameter = file.parameter(i);
    const ProfileField* field = FieldNamed(parameter.name());
    if (field == nullptr) return UnknownName(absl::StrCat(source, ": parameter[", i, "].name"), parameter.name());
    const std::string where = absl::StrCat(source, ": ", field->name);
    ASSIGN_OR_RETURN(ProfileFact fact, FactOf(parameter, *field, where));
    if (!profile->facts.emplace(field->name, std::move(fact)).second) return Refused(where, "it twice", "it once");
    profile->*field->value = parameter.value();
  }
  std::vector<std::string> missing;
  for (const ProfileField& field : kFields) {
    if (profile->facts.count(field.name) == 0) missing.push_back(field.name);
  }
  if (!missing.empty()) return Refused(source, absl::StrCat("no ", absl::StrJoin(missing, ", no ")), "each parameter once");
  // The lookup is a part of all that softmax takes.
  return CheckNumber(absl::StrCat(source, ": gather_packets.value"), profile->gather_packets, 0, profile->softmax_packets);
}

absl::Status ReadModes(const DeviceProfileFile& file, absl::string_view source, DeviceProfile* profile) {
  if (file.mode_size() < 1 || file.mode_size() > kMostModes) {
    return Refused(absl::StrCat(source, ": mode"), file.mode_size(), absl::StrCat("1 to ", kMostModes));
  }
  for (int i = 0; i < file.mode_size(); ++i) {
    const DeviceProfileFile::Mode& mode = file.mode(i);
    const std::string where = absl::StrCat(source, ": mode[", i, "]");
    RETURN_IF_ERROR(CheckText(absl::StrCat(where, ".name"), mode.name(), kMostNameBytes));
    RETURN_IF_ERROR(CheckText(absl::StrCat(where, ".source"), mode.source(), kMostSourceBytes));
    RETURN_IF_ERROR(CheckNumber(absl::StrCat(where, ".clock"), mode.clock(), kLeastClock, kMostClock));
    RETURN_IF_ERROR(CheckNumber(absl::StrCat(where, ".power"), mode.power(), kLeastPower, kMostPower));
    if (i == 0 && (mode.clock() != 1 || mode.power() != 1)) {
      return Refused(where, absl::StrCat("clock ", mode.clock(), " and power ", mode.power()), "1 and 1, since it is the first");
    }
    for (const DeviceProfile::Mode& other : profile->modes) {
      if (other.name == mode.name()) return Refused(absl::StrCat(where, ".name"), Quoted(mode.name()), "another than those before");
    }
    profile->modes.push_back({.name = mode.name(), .clock = mode.clock(), .power = mode.power()});
  }
  return absl::OkStatus();
}

// Scales a number and the number's range.
void Scale(double DeviceProfile::* value, double factor, DeviceProfile* profile) {
  profile->*value *= factor;
  for (const ProfileField& field : kFields) {
    const auto fact = profile->facts.find(field.name);
    if (field.value != value || fact == profile->facts.end()) continue;
    fact->second.low *= factor;
    fact->second.high *= factor;
  }
}

}  // namespace

absl::Span<const ProfileField> ProfileFields() { return kFields; }

std::vector<std::string> DeviceProfileNames() { return NamesOf(kBuiltIn); }

absl::StatusOr<DeviceProfile> ParseDeviceProfile(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const DeviceProfileFile file, ParseFile(text, source));
  RETURN_IF_ERROR(CheckText(absl::StrCat(source, ": name"), file.name(), kMostNameBytes));
  RETURN_IF_ERROR(CheckText(absl::StrCat(source, ": chip"), file.chip(), kMostSourceBytes));
  DeviceProfile profile = {.name = file.name(), .chip = file.chip()};
  RETURN_IF_ERROR(ReadParameters(file, source, &profile));
  RETURN_IF_ERROR(ReadModes(file, source, &profile));
  return profile;
}

absl::StatusOr<DeviceProfile> LoadDeviceProfile(const std::string& name_or_path) {
  ASSIGN_OR_RETURN(const std::string text, ReadNamedText("device profile", name_or_path, kBuiltIn, kMostFileBytes));
  return ParseDeviceProfile(text, name_or_path);
}

absl::StatusOr<DeviceProfile> InMode(const DeviceProfile& profile, absl::string_view mode) {
  std::vector<std::string> names;
  for (const DeviceProfile::Mode& known : profile.modes) {
    names.push_back(known.name);
    if (known.name != mode) continue;
    DeviceProfile changed = profile;
    Scale(&DeviceProfile::matrix_tiles_per_second, known.clock, &changed);
    Scale(&DeviceProfile::vector_hertz, known.clock, &changed);
    Scale(&DeviceProfile::matrix_watts, known.power, &changed);
    Scale(&DeviceProfile::vector_watts, known.power, &changed);
    changed.modes.assign(1, DeviceProfile::Mode{.name = known.name});
    return changed;
  }
  return Refused(absl::StrCat(profile.name, ": mode"), Quoted(mode), absl::StrCat("one of ", absl::StrJoin(names, ", ")));
}

}  // namespace tessera
