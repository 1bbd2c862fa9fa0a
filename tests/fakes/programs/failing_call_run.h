// Runs a program in a new folder with models, adapters and prompts, while one of its calls of the C library fails.
//
//   const ProgramRun whole = RunWithCall("tessera_pack", "--model=@/model.gguf --out=@/new.tsr", "");
//   const ProgramRun cut = RunWithCall("tessera_pack", "--model=@/model.gguf --out=@/new.tsr", "", Call{"fsync", EIO, ".tmp"});
//   EXPECT_TRUE(cut.failed);              // the program makes this call
//
// In flags and texts @ is the folder. The preloaded library is tests/fakes/failing_calls.cc: not for runs under a sanitizer.
#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/eagle_builder.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {

struct Call {
  const char* function;
  int error;
  const char* file;  // The end of the file's path; for a pipe "]".
  int passed = 0;    // The number of calls that succeed before.
};

using Files = std::map<std::string, std::string>;  // Contents by path.

struct ProgramRun {
  Ended ended;
  bool failed = false;  // Whether a call failed.
  Files before, after;
};

inline Files FilesIn(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file()) files[path.substr(folder.size() + 1)] = Must(ReadFileToString(path, 1 << 30));
  }
  return files;
}

inline void MakeFiles(const TemporaryFolder& folder) {
  static const PackedModel packed(TinyPath("llama"));
  for (const char* name : {"model.gguf", "old.gguf"}) std::filesystem::copy_file(packed.gguf(), folder.Path(name));
  for (const char* name : {"model.tsr", "old.tsr"}) std::filesystem::copy_file(packed.path(), folder.Path(name));
  std::filesystem::copy(TESSERA_SOURCE_DIR "/tests/golden/lora/llama-qv", folder.Path("pirate"));
  EagleBuilder({.vocabulary = 50, .target_vocabulary = 271}).WriteTo(folder.Path("eagle.safetensors"));
  WritePredictor(folder.Path("exit.safetensors"), {.rows = 64, .width = 64, .numbers = std::vector<float>(64 * 64, 0.01f)});
  Must(WriteFileAtomically(folder.Path("prompt"), "the in the"));
  Must(WriteFileAtomically(folder.Path("prompts"), "the in the\n"));
}

// Removes the seconds of answers, which differ from run to run.
inline std::string WithoutSeconds(std::string text) {
  const std::string seconds = "\"seconds\":{";
  for (size_t at = text.find(seconds); at != std::string::npos; at = text.find(seconds, at + 1)) {
    text.erase(at + seconds.size(), text.find('}', at) - at - seconds.size());
  }
  return text;
}

// keeps_times: returns the texts as written, except for the folder's name.
inline ProgramRun RunWithCall(const std::string& program, const std::string& flags, const std::string& input,
                          const std::optional<Call>& call = std::nullopt, bool keeps_times = false) {
  signal(SIGPIPE, SIG_IGN);
  const TemporaryFolder folder, mark;
  MakeFiles(folder);
  ProgramRun run = {.before = FilesIn(folder.path())};
  const std::vector<std::string> all = absl::StrSplit(absl::StrReplaceAll(flags, {{"@", folder.path()}}), ' ');
  const auto prepare = [&] {
    setenv("TESSERA_CACHE", folder.Path("cache").c_str(), 1);
    if (!call.has_value()) return;
    setenv("LD_PRELOAD", TESSERA_BINARY_DIR "/bin/tessera_failing_calls.so", 1);
    setenv("TESSERA_FAILING_CALL", absl::StrCat(call->function, " ", call->error, " ", call->passed, " ", call->file).c_str(), 1);
    setenv("TESSERA_FAILED_CALL", mark.Path("failed").c_str(), 1);
  };
  run.ended = Program(program, all, prepare).Finish(input);
  for (std::string* text : {&run.ended.output, &run.ended.errors}) {
    *text = absl::StrReplaceAll(*text, {{folder.path(), "@"}});
    if (!keeps_times) *text = WithoutSeconds(*text);
  }
  run.failed = mark.Files() > 0;
  run.after = FilesIn(folder.path());
  return run;
}

}  // namespace tessera
