// Runs a fuzz target's seeds and the files named, without a fuzzer.
//
//   tessera_replay_gguf tests/fuzz/corpus/gguf            every seed, then every file of the folder
//   tessera_replay_gguf --only crash-1a2b                 the file alone, and the message about it
//   tessera_replay_gguf --write_seeds FOLDER              the seeds as files, for a fuzzer to start from
//
// Each input ends within ten seconds, or the program is ended. Exit codes: 0 ok, 1 if a folder is missing, or if nothing is
// accepted or nothing refused: then the inputs no longer reach what they are there for.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "glog/logging.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

absl::Status Run(const FuzzSeed& input) {
  // A copy of exactly this size, so that the address sanitizer sees a read past its end.
  const auto exact = std::make_unique<std::byte[]>(input.bytes.size());
  std::memcpy(exact.get(), input.bytes.data(), input.bytes.size());
  alarm(10);
  const absl::Status status = RunInput({exact.get(), input.bytes.size()});
  alarm(0);
  return status;
}

std::vector<FuzzSeed> ReadFiles(const std::string& path) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) paths.push_back(entry.path());
  } else {
    paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  std::vector<FuzzSeed> files;
  for (const std::filesystem::path& file : paths) {
    std::ifstream in(file, std::ios::binary);
    PCHECK(in.good()) << file;
    files.push_back({file.string(), std::string(std::istreambuf_iterator<char>(in), {})});
  }
  return files;
}

void WriteSeeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const FuzzSeed& seed : Seeds()) {
    std::ofstream out(std::filesystem::path(folder) / seed.name, std::ios::binary);
    out << seed.bytes;
    PCHECK(out.flush().good()) << folder << "/" << seed.name;
  }
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "--write_seeds") {
    WriteSeeds(arguments[1]);
    return 0;
  }
  const bool only = !arguments.empty() && arguments[0] == "--only";
  std::vector<FuzzSeed> inputs = only ? std::vector<FuzzSeed>() : Seeds();
  for (size_t i = only ? 1 : 0; i < arguments.size(); ++i) {
    for (FuzzSeed& file : ReadFiles(arguments[i])) inputs.push_back(std::move(file));
  }
  int accepted = 0, refused = 0;
  for (const FuzzSeed& input : inputs) {
    const absl::Status status = Run(input);
    if (only) std::printf("%s: %s\n", input.name.c_str(), status.ToString().c_str());
    ++(status.ok() ? accepted : refused);
  }
  std::printf("%d inputs accepted, %d refused\n", accepted, refused);
  return only || (accepted > 0 && refused > 0) ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_FATAL;  // A refused input is no news.
  google::InitGoogleLogging(argv[0]);
  return tessera::Main({argv + 1, argv + argc});
}
