// Models in files: the reader opens them by a path and puts the parts of a split model together. What it refuses is refused in words
// that name a part, and what it accepts can be read from the parts.
//
// An input is a byte for the part to open, a byte for the part that is missing (0: none), and one to three files. A file ends where
// the next "GGUF" begins; so a part can grow and shrink, and the others stay what they are.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/spoiled_files.h"
#include "tessera/tests/fuzz/use_tensors.h"

namespace tessera {
namespace {

constexpr int kMostFiles = 3;

std::vector<std::string> CutIntoFiles(std::string bytes) {
  std::vector<std::string> files;
  while (static_cast<int>(files.size()) < kMostFiles - 1) {
    const size_t next = bytes.find("GGUF", 1);
    if (next == bytes.npos) break;
    files.push_back(bytes.substr(0, next));
    bytes.erase(0, next);
  }
  files.push_back(std::move(bytes));
  return files;
}

// The files of an input, in a folder that goes with this.
class Parts {
 public:
  explicit Parts(const std::vector<std::string>& files) : folder_(TemporaryFolder::InMemory()) {
    for (size_t part = 0; part < files.size(); ++part) {
      paths_.push_back(folder_.Path(absl::StrFormat("model-%05d-of-%05d.gguf", part + 1, files.size())));
      std::ofstream out(paths_[part], std::ios::binary);
      out << files[part];
      PCHECK(out.flush().good()) << paths_[part];
    }
  }

  const std::string& Path(int part) const { return paths_[part]; }
  bool AnyIsNamed(absl::string_view message) const {
    return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) { return absl::StartsWith(message, path + ": "); });
  }

 private:
  const TemporaryFolder folder_;
  std::vector<std::string> paths_;
};

std::string Input(int opened, int missing, const std::vector<std::string>& files) {
  std::string input = {static_cast<char>(opened), static_cast<char>(missing)};
  for (const std::string& file : files) input += file;
  return input;
}

std::vector<std::string> Built(std::vector<GgufBuilder> parts) {
  std::vector<std::string> files;
  for (GgufBuilder& part : parts) files.push_back(part.Build());
  return files;
}

GgufBuilder Small() {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").Number<uint32_t>("llama.block_count", 1);
  builder.Tensor("a", {4, 2}, 0, std::string(32, 'a')).Tensor("b", {64}, 8, std::string(68, 'b'));
  return builder.Tensor("c", {1}, 0, "cccc").Tensor("d", {2, 1, 1, 2}, 1, "dddddddd");
}

// Each way to spoil one of the parts.
std::vector<FuzzSeed> Spoil(const GgufBuilder& part, bool first) {
  std::vector<FuzzSeed> spoiled;
  const auto add = [&](const std::string& name, GgufBuilder changed) { spoiled.push_back({name, changed.Build()}); };
  for (const std::string key : {"split.no", "split.count", "split.tensors.count"}) {
    const GgufBuilder without = GgufBuilder(part).Remove(key);
    add(key + "_missing", without);
    add(key + "_float", GgufBuilder(without).Number(key, 1.0f));
    for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 62}) {
      add(absl::StrCat(key, "_", number), GgufBuilder(without).Number(key, number));
    }
  }
  add("metadata", GgufBuilder(part).String("general.name", "a"));
  add("alignment", GgufBuilder(part).Alignment(64));
  add("tensor_of_another", GgufBuilder(part).Tensor(first ? "d" : "a", {1}, 0, "aaaa"));
  add("tensor_more", GgufBuilder(part).Tensor("e", {1}, 0, "eeee"));
  AppendSpoiled("field", part, &spoiled);
  return spoiled;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const int any_part = bytes.Below(kMostFiles), missing = bytes.Below(kMostFiles + 1);
  const std::vector<std::string> files = CutIntoFiles(bytes.Rest());
  const int count = static_cast<int>(files.size()), opened = any_part % count;
  const Parts parts(files);
  if (missing > 0 && missing <= count) std::filesystem::remove(parts.Path(missing - 1));

  const auto file = GgufFile::Open(parts.Path(opened));
  if (!file.ok()) {
    CHECK(absl::IsInvalidArgument(file.status()) || absl::IsNotFound(file.status())) << file.status();
    CHECK(parts.AnyIsNamed(file.status().message())) << file.status();
    return file.status();
  }
  std::vector<int64_t> sizes;
  for (const std::string& part : files) sizes.push_back(static_cast<int64_t>(part.size()));
  const bool whole = (*file)->parts() == 1;  // The file opened says that it is no part.
  if (whole) sizes = {sizes[opened]};
  CHECK_EQ((*file)->parts(), static_cast<int>(sizes.size()));
  CHECK_EQ((*file)->path(), parts.Path(whole ? opened : 0));
  CHECK_EQ((*file)->size(), std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
  for (const GgufTensor& tensor : (*file)->tensors()) {
    CHECK_EQ((*file)->PathOf(tensor), parts.Path(whole ? opened : tensor.part));
  }
  UseTensors(**file, sizes);
  UseHeaders(**file);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"whole", Input(0, 0, Built({Small()}))}, {"only_part", Input(0, 0, Built(Small().Split(1)))}};
  for (const int count : {2, 3}) {
    const std::vector<GgufBuilder> builders = Small().Split(count);
    const std::vector<std::string> parts = Built(builders);
    for (int part = 0; part < count; ++part) {
      const std::string name = absl::StrCat("part_", part + 1, "_of_", count, "_");
      seeds.push_back({name + "opened", Input(part, 0, parts)});
      seeds.push_back({name + "missing", Input(0, part + 1, parts)});
      for (const FuzzSeed& spoiled : Spoil(builders[part], part == 0)) {
        std::vector<std::string> files = parts;
        files[part] = spoiled.bytes;
        seeds.push_back({name + spoiled.name, Input(0, 0, files)});
      }
    }
  }
  return seeds;
}

}  // namespace tessera
