// Small texts from outside: files of lines to which a run adds, sizes in bytes, hashes, and the files by which a system says what CPU time
// it grants and which CPUs it has. A file of lines gives its bytes back, line by line, whatever a kill left at its end; a size is refused
// in words, or is the size that its own text says again; a hash is read only in the form in which it is written.
//
// An input's first byte says which of them follows.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cpu_quota.h"
#include "tessera/base/line_file.h"
#include "tessera/base/processor_cores.h"
#include "tessera/base/sha256.h"
#include "tessera/base/text_file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

enum Kind : char { kLines, kSize, kHash, kQuota, kCores, kKinds };

const TemporaryFolder& TheFolder() {
  static const auto folder = std::make_unique<TemporaryFolder>(TemporaryFolder::InMemory());   // It goes when the program ends.
  return *folder;
}

void Write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

std::vector<std::string> LinesOf(LineFile& file) {
  std::vector<std::string> lines;
  Must(file.ForEachLine([&](absl::string_view line, int64_t number) {
    lines.emplace_back(line);
    CHECK_EQ(number, static_cast<int64_t>(lines.size()));
    return absl::OkStatus();
  }));
  return lines;
}

// The bytes come back, and a line that is added stands behind the whole ones, with the rest cut off or ended.
absl::Status UseLines(const std::string& bytes) {
  const std::string path = TheFolder().Path("lines");
  const bool cuts = bytes.size() % 2 == 0;
  Write(path, bytes);
  CHECK(Must(ReadTextFile(path, static_cast<int64_t>(bytes.size()))) == bytes);
  CHECK(bytes.empty() || absl::IsResourceExhausted(ReadTextFile(path, static_cast<int64_t>(bytes.size()) - 1).status()));
  std::vector<std::string> lines;
  {
    LineFile file = Must(LineFile::Open(path));
    CHECK(absl::IsFailedPrecondition(LineFile::Open(path).status())) << "one at a time";
    lines = LinesOf(file);
    std::string all;
    for (const std::string& line : lines) absl::StrAppend(&all, line, "\n");
    CHECK(all + file.rest() == bytes);
    if (!cuts && !file.rest().empty()) lines.push_back(file.rest());
    Must(cuts || file.rest().empty() ? file.CutRest() : file.EndRest());
    Must(file.Append("added"));
    lines.emplace_back("added");
  }
  LineFile again = Must(LineFile::Open(path));
  CHECK(LinesOf(again) == lines && again.rest().empty());
  return absl::OkStatus();
}

absl::Status UseSize(const std::string& text) {
  const absl::StatusOr<int64_t> size = ParseByteSize(text);
  if (!size.ok()) return Refused(size.status(), "");
  CHECK_GE(*size, 0);
  CHECK_EQ(Must(ParseByteSize(absl::StrCat(*size))), *size);
  if (*size >= int64_t{1} << 40) return absl::OkStatus();   // Shown in units that are not read.
  const double shown = static_cast<double>(Must(ParseByteSize(FormatByteSize(*size))));
  CHECK_LE(std::abs(shown - static_cast<double>(*size)), 0.005 * static_cast<double>(*size) + 1) << FormatByteSize(*size);
  return absl::OkStatus();
}

absl::Status UseHash(const std::string& text) {
  const std::optional<Sha256Sum> sum = Sha256Sum::Parse(text);
  const bool is_hash = text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  CHECK_EQ(sum.has_value(), is_hash) << text;
  if (!sum.has_value()) return absl::InvalidArgumentError("no hash");
  CHECK(sum->Hex() == text);
  return absl::OkStatus();
}

// The groups of a process, a zero byte, and what a group may take. Nothing of it is an error: there is a limit, or there is none.
absl::Status UseQuota(const std::string& bytes) {
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string proc = TheFolder().Path("proc"), groups = TheFolder().Path("groups");
  std::filesystem::create_directories(proc + "/self");
  std::filesystem::create_directories(groups);
  Write(proc + "/self/cgroup", bytes.substr(0, end));
  Write(groups + "/cpu.max", bytes.substr(std::min(end + 1, bytes.size())));
  const std::optional<double> quota = CpuQuota(proc, groups);
  CHECK(!quota.has_value() || *quota > 0) << *quota;
  if (quota.has_value()) CHECK_GE(ThreadsForQuota(*quota), 1);
  return absl::OkStatus();
}

// What the system says of four CPUs: files, with zero bytes between. Nothing is an error, and no text takes all CPUs away.
absl::Status UseCores(const std::string& bytes) {
  const std::string devices = TheFolder().Path("devices"), cpus = devices + "/system/cpu";
  std::vector<std::string> paths = {cpus + "/possible", devices + "/cpu_core/cpus", devices + "/cpu_atom/cpus"};
  for (int cpu = 0; cpu < 4; ++cpu) {
    for (const char* file : {"/topology/core_cpus_list", "/cpu_capacity", "/cpufreq/cpuinfo_max_freq"}) {
      paths.push_back(absl::StrCat(cpus, "/cpu", cpu, file));
    }
  }
  const std::vector<std::string> texts = absl::StrSplit(bytes, '\0');
  for (size_t i = 0; i < paths.size(); ++i) {
    std::filesystem::create_directories(std::filesystem::path(paths[i]).parent_path());
    Write(paths[i], i < texts.size() ? texts[i] : "");
  }
  const ProcessorCores cores = ProcessorCores::Read(devices);
  for (const unsigned long allowed : {0ul, 1ul, 10ul, 15ul}) {
    const CpuSet set(allowed);
    const int fast = cores.FastCores(set);
    CHECK(fast >= 1 && fast <= std::max(1, static_cast<int>(set.count()))) << fast << " of " << allowed;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const int kind = bytes.Below(kKinds);
  const std::string text = bytes.Rest();
  constexpr absl::Status (*kUse[])(const std::string&) = {UseLines, UseSize, UseHash, UseQuota, UseCores};
  return kUse[kind](text);
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](Kind kind, const std::string& text) {
    seeds.push_back({absl::StrCat("text_", seeds.size()), std::string(1, kind) + text});
  };
  for (const char* lines : {"", "\n", "a\nb\n", "a\nb", "\r\n\n\n{\"id\":1}\n{\"id\"", "\xff\n"}) add(kLines, lines);
  add(kLines, std::string("\0\n\0", 3));
  add(kLines, std::string(300, 'x') + "\n" + std::string(300, 'y'));
  for (const char* size : {"0", "1", " 5 GiB ", "1.5k", "0.1MB", "1e3", "-1", "9223372036854775807", "9223372036854775808", "8589934592G",
                           "8589934591.999GiB", "1.B", ".5K", "1 Ki B", "nan", "inf", "", "\xff", "1,5G", "0x10",
                           "1.0000000000000000001K"}) {
    add(kSize, size);
  }
  const std::string hash = Sha256Of("a").Hex();
  for (const std::string& text : {hash, hash.substr(1), hash + "0", std::string(64, 'A'), std::string(64, 'g'), std::string()}) add(kHash,
                                  text);
  for (const char* groups : {"0::/\n", "0::/a/b\n", "4:cpu,cpuacct:/\n", "1:memory:/x\n0::/\n", ":::", "0", "0::", "\n\n", "0::/../..\n"}) {
    for (const char* most : {"150000 100000\n", "max 100000\n", "-1 1", "0 0", "1", "9223372036854775807 1", "1 9223372036854775808", ""}) {
      add(kQuota, std::string(groups) + '\0' + most);
    }
  }
  const std::string zero(1, '\0');
  for (const char* possible : {"0-3\n", "0", "0,2-3", "3-0", "0-9999999999", "", "-1", "0-3,", "x"}) {
    for (const char* siblings : {"0-1\n", "0", "0,2", "0-3"}) {
      std::string files = absl::StrCat(possible, zero, "0-1", zero, "2-3");
      for (int cpu = 0; cpu < 4; ++cpu) absl::StrAppend(&files, zero, siblings, zero, 1024 >> cpu, zero, 3000000 + cpu);
      add(kCores, files);
    }
  }
  return seeds;
}

}  // namespace tessera
