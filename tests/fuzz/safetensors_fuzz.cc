// The reader of safetensors files: what it refuses it names, and what it accepts is consistent and lies inside the file, each byte after
// the header in one tensor; and a writer that is given the same tensors gives a file that reads alike.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/model/files/safetensors_writer.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kName[] = "input.safetensors";

bool Accepts(const absl::Status& status) {
  if (status.ok()) return true;
  CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
  CHECK(absl::StartsWith(status.message(), absl::StrCat(kName, ": "))) << status;
  return false;
}

std::vector<std::byte> BytesOf(const SafetensorsFile& file, const SafetensorsTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
  const absl::Status read = file.Read(tensor, 0, absl::MakeSpan(bytes));
  CHECK(read.ok()) << read;
  return bytes;
}

// Reads all, and checks that tensors fill the file's end one after the other.
void UseTensors(const SafetensorsFile& file) {
  int64_t end = -1;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    CHECK_EQ(file.FindTensor(tensor.name), &tensor);
    CHECK(end < 0 || tensor.offset == end) << tensor.name;
    int64_t count = 1;
    for (const int64_t length : tensor.shape) count *= length;
    CHECK(count == tensor.count && count * InfoOf(tensor.type).bytes == tensor.size) << tensor.name;
    end = tensor.offset + tensor.size;
    CHECK_LE(end, file.size()) << tensor.name;
    CHECK_EQ(BytesOf(file, tensor).size(), static_cast<size_t>(tensor.size));
    const absl::StatusOr<std::vector<float>> floats = file.ReadFloats(tensor);
    if (Accepts(floats.status())) CHECK_EQ(static_cast<int64_t>(floats->size()), tensor.count);
  }
  if (end >= 0) CHECK_EQ(end, file.size());
  CHECK(file.FindTensor("\n") == nullptr && file.FindTensor("__metadata__") == nullptr);
}

// REQUIRES: texts of the file are printable, since a writer takes no others.
void UseWriter(const SafetensorsFile& file, const std::string& path) {
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const SafetensorsTensor& tensor : file.tensors()) tensors.push_back({tensor.name, tensor.type, tensor.shape});
  const SafetensorsWriter::Metadata metadata(file.metadata().begin(), file.metadata().end());
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(path, tensors, metadata);
  CHECK(writer.ok()) << writer.status();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const absl::Status appended = writer->Append(static_cast<int>(i), BytesOf(file, file.tensors()[i]));
    CHECK(appended.ok()) << appended;
  }
  const absl::Status committed = writer->Commit();
  CHECK(committed.ok()) << committed;
  const auto again = SafetensorsFile::Open(path);
  CHECK(again.ok()) << again.status();
  CHECK_EQ((*again)->tensors().size(), tensors.size());
  CHECK((*again)->metadata() == file.metadata());
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const SafetensorsTensor* const same = (*again)->FindTensor(tensor.name);
    CHECK(same != nullptr && same->type == tensor.type && same->shape == tensor.shape) << tensor.name;
    CHECK(BytesOf(**again, *same) == BytesOf(file, tensor)) << tensor.name;
  }
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const auto file = SafetensorsFile::Parse(input, kName);
  if (!Accepts(file.status())) return file.status();
  CHECK_EQ((*file)->size(), static_cast<int64_t>(input.size()));
  UseTensors(**file);
  const auto metadata = (*file)->metadata();
  const bool printable = std::all_of(metadata.begin(), metadata.end(), [](const std::pair<std::string, std::string>& text) {
    return IsPrintableUtf8(text.first) && IsPrintableUtf8(text.second);
  });
  if (!printable) return absl::OkStatus();
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  UseWriter(**file, folder.Path("again.safetensors"));
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"good", SafetensorsBuilder().Build()}, {"empty", ""}};
  const auto add = [&](const std::string& name, auto&& change) {
    SafetensorsBuilder builder;
    change(builder);
    seeds.push_back({name, builder.Build()});
  };
  add("nothing", [](SafetensorsBuilder& b) { b.header = "{}", b.data = ""; });
  add("padded", [](SafetensorsBuilder& b) { b.header = b.Header() + "      "; });
  add("texts", [](SafetensorsBuilder& b) { b.metadata = "{\"a\":\"\\n\",\"\":\"\xc3\xa4\"}"; });
  for (int i = 0; i < kSafetensorsTypes; ++i) {
    const SafetensorsTypeInfo& info = InfoOf(static_cast<SafetensorsType>(i));
    add(info.name, [&](SafetensorsBuilder& b) {
      b.entries = {{"x", absl::StrCat("\"", info.name, "\""), "[1,1]", absl::StrCat("[0,", info.bytes, "]")}};
      b.data = std::string(static_cast<size_t>(info.bytes), '\xff');
    });
  }
  const std::string good = SafetensorsBuilder().Build();
  for (size_t cut = 1; cut < good.size(); cut += 13) seeds.push_back({absl::StrCat("cut_", cut), good.substr(0, cut)});
  for (const BadSafetensors& file : BadSafetensorsFiles()) seeds.push_back({file.name, file.bytes});
  return seeds;
}

}  // namespace tessera
