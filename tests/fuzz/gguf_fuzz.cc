// The reader of GGUF files: what it accepts is consistent, and every accessor answers for every key.
#include <cstdint>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "tessera/model/files/gguf.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fuzz/spoiled_files.h"
#include "tessera/tests/fuzz/use_tensors.h"

namespace tessera {
namespace {

constexpr char kName[] = "input.gguf";

// A refusal names the file; a typed accessor refuses in no other way.
bool Accepts(const absl::Status& status) {
  if (status.ok()) return true;
  CHECK(absl::IsInvalidArgument(status) || absl::IsNotFound(status)) << status;
  CHECK(absl::StartsWith(status.message(), kName)) << status;
  return false;
}

// Exactly one of the accessors takes the value, or none does: there are arrays that no loader asks for.
void UseAccessors(const GgufFile& file, absl::string_view key, const GgufValue& value) {
  const bool text = Accepts(file.String(key).status()), number = Accepts(file.Uint(key).status());
  const bool real = Accepts(file.Float(key).status()), truth = Accepts(file.Bool(key).status());
  const bool texts = Accepts(file.Strings(key).status()), reals = Accepts(file.Floats(key).status());
  const bool numbers = Accepts(file.Ints(key).status());
  const bool flags = Accepts(file.Bools(key).status());
  CHECK_LE(text + number + real + truth + texts + reals + numbers + flags, 1) << key;
  Accepts(file.Int(key).status());   // Takes what Uint does, and negative numbers.
  CHECK_EQ(text, file.StringOr(key, "").ok());
  CHECK_EQ(number, file.UintOr(key, 0).ok());
  CHECK_EQ(real, file.FloatOr(key, 0).ok());
  CHECK_EQ(truth, file.BoolOr(key, false).ok());
  if (texts) CHECK_EQ(file.Strings(key)->size(), value.count);
  if (reals) CHECK_EQ(file.Floats(key)->size(), value.count);
  if (numbers) CHECK_EQ(file.Ints(key)->size(), value.count);
}

void UseMetadata(const GgufFile& file) {
  int left = 3;  // Each wrong type makes a message, which takes longer than to parse the file.
  for (const auto& [key, value] : file.metadata()) {
    CHECK_EQ(file.Find(key), &value);
    Touch(key);
    Touch(value.bytes);
    if (value.element_type == GgufType::kString) {
      for (absl::string_view text : value.Strings()) Touch(text);
    }
    if (left-- > 0) UseAccessors(file, key, value);
  }
  constexpr char kAbsent[] = "\n";  // No key holds a control character.
  CHECK(absl::IsNotFound(file.String(kAbsent).status()));
  CHECK(*file.StringOr(kAbsent, "a") == "a" && *file.UintOr(kAbsent, 1) == 1);
  CHECK(*file.FloatOr(kAbsent, 1) == 1 && *file.BoolOr(kAbsent, true));
  CHECK(file.FindTensor(kAbsent) == nullptr);
}

// Reading from the first byte to the last gives each tensor's own bytes, in order and whole.
void UseReadThrough(const GgufFile& file) {
  std::vector<int64_t> given(file.tensors().size(), 0);
  const absl::Status read = file.ReadThrough([&](size_t tensor, int64_t begin, absl::Span<const std::byte> bytes) {
    CHECK_EQ(begin, given[tensor]);
    given[tensor] += static_cast<int64_t>(bytes.size());
    Touch(bytes);
    return absl::OkStatus();
  });
  CHECK(read.ok()) << read;
  for (size_t i = 0; i < given.size(); ++i) CHECK_EQ(given[i], file.tensors()[i].size) << i;
  CHECK(file.CheckUnchanged().ok());
  CHECK_GE(file.unused_bytes(), 0);
}

GgufBuilder EveryType() {
  GgufBuilder builder;
  builder.Alignment(32).Number<uint8_t>("u8", 255).Number<int8_t>("i8", -1).Number<uint16_t>("u16", 1).Number<int16_t>("i16", 1);
  builder.Number<uint32_t>("u32", 7).Number<int32_t>("i32", -7).Number<uint64_t>("u64", 7).Number<int64_t>("i64", 7);
  builder.Number("f32", 1.5f).Number("f64", 1.5).Number("bool", true).String("string", "a \"quoted\" \xff text");
  builder.Strings("strings", {"", "one", "two"}).Numbers<float>("floats", {1, 2}).Numbers<int32_t>("ints", {3, -4});
  builder.Numbers<uint32_t>("uints", {5, 0xffffffff}).Numbers<bool>("bools", {true, false}).Numbers<double>("doubles", {0.5});
  builder.String("k\xc3\xb6\xe2\x82\xac\xf0\x9f\x99\x82", std::string(100, 'x'));
  builder.Tensor("f32", {4, 2}, 0, std::string(32, 'a')).Tensor("q8_0", {64, 1, 1, 1}, 8, std::string(68, 'b'));
  return builder;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const auto file = GgufFile::Parse(input, kName);
  if (!Accepts(file.status())) return file.status();
  CHECK_EQ((*file)->size(), static_cast<int64_t>(input.size()));
  UseMetadata(**file);
  UseTensors(**file, {(*file)->size()});
  UseHeaders(**file);
  UseReadThrough(**file);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  AppendSpoiled("every_type", EveryType(), &seeds);
  const auto add = [&](const char* name, GgufBuilder builder) { seeds.push_back({name, builder.Build()}); };
  add("unsigned_16_64", GgufBuilder().Number<uint16_t>("a", 1).Number<uint64_t>("b", 7));
  add("signed_8_16_64", GgufBuilder().Number<int8_t>("a", -1).Number<int16_t>("b", 1).Number<int64_t>("c", 7));
  add("signed_and_float_32", GgufBuilder().Number<int32_t>("a", -7).Number("b", 1.5f));
  add("float_64_bool_string", GgufBuilder().Number("a", 1.5).Number("b", true).String("c", "text"));
  add("arrays", GgufBuilder().Strings("a", {"", "one"}).Numbers<float>("b", {1, 2}).Numbers<int32_t>("c", {3, -4}));
  add("unsigned_arrays", GgufBuilder().Numbers<uint32_t>("a", {5, 6}).Numbers<uint32_t>("b", {5, 0xffffffff}).Numbers<bool>("c", {true}));
  for (const BadFile& file : BadGgufFiles()) seeds.push_back({file.name, file.bytes});
  return seeds;
}

}  // namespace tessera
