// Runs one of the built programs as a person would: arguments and standard input in, output, errors and exit code out.
//
//   Program program("tessera_tokenize", {"--model=" + TinyPath("llama"), "--jsonl"});  // Or a subcommand: "tessera_bench rows".
//   Ended ended = program.Finish("{\"id\": 1, \"text\": \"a\"}\n");
//   EXPECT_EQ(ended.code, 0) << ended.errors;
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glog/logging.h>

#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {

inline std::string TinyPath(const std::string& name) { return std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/" + name + ".gguf"; }

// Returns all programs: a binary for each X.cc that lies directly in apps, apps/bench or apps/lab.
inline const std::vector<std::string>& Programs() {
  static const std::vector<std::string> programs = [] {
    std::vector<std::string> names;
    for (const char* const part : {"/apps", "/apps/bench", "/apps/lab"}) {
      for (const auto& entry : std::filesystem::directory_iterator(std::string(TESSERA_SOURCE_DIR) + part)) {
        if (entry.path().extension() == ".cc") names.push_back("tessera_" + entry.path().stem().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }();
  return programs;
}

// Returns Programs(). A program that does nothing without a subcommand has one, and subcommands that work as programs are included.
inline std::vector<std::string> WorkingPrograms() {
  std::vector<std::string> programs = Programs();
  std::replace(programs.begin(), programs.end(), std::string("tessera_bench"), std::string("tessera_bench speed"));
  std::replace(programs.begin(), programs.end(), std::string("tessera_reproduce"), std::string("tessera_reproduce npu"));
  std::replace(programs.begin(), programs.end(), std::string("tessera_scale"), std::string("tessera_scale judge"));
  programs.insert(programs.end(), {"tessera_bench spec", "tessera_quantize statistics", "tessera_quantize states"});
  return programs;
}

// Returns the programs that read a --model. One of the others writes models, and two need none.
inline std::vector<std::string> ModelPrograms() {
  std::vector<std::string> programs = WorkingPrograms();
  std::erase(programs, "tessera_random_model");
  std::erase(programs, "tessera_reproduce npu");
  std::erase(programs, "tessera_scale judge");
  return programs;
}

struct Ended {
  int code;            // 128 + the signal's number if a signal ended the program.
  std::string output;
  std::string errors;
  int64_t cpu_micros = 0;   // The time for which the program's threads have computed.
  int64_t peak_memory = 0;  // The maximum in bytes, as the system reports. The bytes of the test before the exec count, too.
};

class Program {
 public:
  // before: called in the new process, to limit the process.
  Program(const std::string& name, const std::vector<std::string>& arguments, const std::function<void()>& before = [] {}) {
    CHECK_EQ(pipe2(input_, O_CLOEXEC), 0);
    CHECK_EQ(pipe2(output_, O_CLOEXEC), 0);
    CHECK_EQ(pipe2(errors_, O_CLOEXEC), 0);
    std::vector<std::string> all = absl::StrSplit(name, ' ');
    all[0] = std::string(TESSERA_BINARY_DIR) + "/bin/" + all[0];
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    argv.push_back(nullptr);
    process_ = fork();
    CHECK_GE(process_, 0);
    if (process_ == 0) {
      dup2(input_[0], STDIN_FILENO);
      dup2(output_[1], STDOUT_FILENO);
      dup2(errors_[1], STDERR_FILENO);
      signal(SIGINT, SIG_DFL);
      alarm(60);  // The alarm ends a program that hangs.
      before();
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(input_[0]);
    close(output_[1]);
    close(errors_[1]);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (process_ > 0) Finish("");
  }

  void Signal(int signal) {
    CHECK_GT(process_, 0) << "it has ended";
    kill(process_, signal);
  }
  void CloseOutput() { close(output_[0]); output_[0] = -1; }

  // Waits for the first bytes of output. Empty if the program ended without any.
  std::string FirstOutput() {
    char bytes[256];
    const ssize_t count = read(output_[0], bytes, sizeof(bytes));
    return count > 0 ? std::string(bytes, count) : "";
  }

  // Waits for `lines` lines of output, and returns the lines: fewer if the program ended before.
  std::string OutputLines(int lines) {
    std::string text;
    char bytes[4096];
    while (std::count(text.begin(), text.end(), '\n') < lines) {
      const ssize_t count = read(output_[0], bytes, sizeof(bytes));
      if (count <= 0) break;
      text.append(bytes, count);
    }
    return text;
  }

  // Waits until `text` is among the errors, which Finish returns all the same. False if the program ended without.
  bool WaitForErrors(const std::string& text) {
    char bytes[256];
    while (seen_errors_.find(text) == std::string::npos) {
      const ssize_t count = read(errors_[0], bytes, sizeof(bytes));
      if (count <= 0) return false;
      seen_errors_.append(bytes, count);
    }
    return true;
  }

  void Write(const std::string& text) { CHECK_EQ(write(input_[1], text.data(), text.size()), static_cast<ssize_t>(text.size())); }

  bool Running() {
    Wait(WNOHANG);
    return process_ > 0;
  }

  // Waits for the program's end while its input stays open. False if the program does not end.
  bool Ends() {
    return Await([&] { return !Running(); }, std::chrono::seconds(30));
  }

  // Waits until the program has computed for `micros` microseconds, however long this takes. False if the program ended before.
  bool Computes(int64_t micros) {
    return Await([&] { return !Running() || CpuNanosOfProcess(process_) >= micros * 1000; }) && Running();
  }
  // Waits until all threads of the program wait: for input, or for room for output. False if the program ended before.
  bool FallsAsleep() {
    return Await([&] { return !Running() || AllAreAsleep(process_); }) && Running();
  }
  // Waits for the first of both events.
  bool ComputesOrWaits(int64_t micros) {
    return Await([&] { return !Running() || CpuNanosOfProcess(process_) >= micros * 1000 || AllAreAsleep(process_); }) && Running();
  }
  // Waits until the program has read all input so far. False if the program ended before.
  bool TakesInput() {
    return Await([&] { return !Running() || BytesIn(input_[1]) == 0; }) && Running();
  }
  // Waits until the program waits for its reader, because standard output is full. False if the program ended before.
  bool FillsOutput() {
    const int half = fcntl(output_[0], F_GETPIPE_SZ) / 2;   // A page may have free room that an undivided write cannot use.
    return Await([&] { return !Running() || (BytesIn(output_[0]) > half && AllAreAsleep(process_)); }) && Running();
  }

  // Writes `input` and the end of input, and waits for the program's end.
  Ended Finish(const std::string& input) {
    std::thread writer([&] {
      size_t done = 0;
      while (done < input.size()) {
        const ssize_t written = write(input_[1], input.data() + done, input.size() - done);
        if (written <= 0) break;
        done += written;
      }
      close(input_[1]);
    });
    Ended ended;
    std::thread reader([&] { ended.errors = seen_errors_ + ReadAll(errors_[0]); });
    ended.output = output_[0] < 0 ? "" : ReadAll(output_[0]);
    reader.join();
    writer.join();
    Wait(0);
    ended.code = code_;
    ended.cpu_micros = cpu_micros_;
    ended.peak_memory = peak_memory_;
    return ended;
  }

 private:
  static int BytesIn(int pipe) {
    int bytes = 0;
    CHECK_EQ(ioctl(pipe, FIONREAD, &bytes), 0);
    return bytes;
  }

  static std::string ReadAll(int file) {
    std::string text;
    char bytes[4096];
    for (ssize_t count; (count = read(file, bytes, sizeof(bytes))) > 0;) text.append(bytes, count);
    close(file);
    return text;
  }

  void Wait(int options) {
    int status;
    rusage usage;
    if (process_ <= 0 || wait4(process_, &status, options, &usage) != process_) return;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const auto micros = [](const timeval& time) { return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; };
    cpu_micros_ = micros(usage.ru_utime) + micros(usage.ru_stime);
    peak_memory_ = int64_t{usage.ru_maxrss} * 1024;
    process_ = 0;
  }

  int input_[2], output_[2], errors_[2];
  pid_t process_;
  std::string seen_errors_;
  int code_ = -1;
  int64_t cpu_micros_ = 0, peak_memory_ = 0;
};

// Parses a program's output with --json.
inline JsonValue Json(const std::string& text) {
  absl::StatusOr<JsonValue> value = JsonValue::Parse(text);
  CHECK(value.ok()) << value.status() << text;
  return *std::move(value);
}

// Returns the lines that answer requests, without their times, which differ from run to run.
inline std::string WithoutTimes(std::string lines) {
  constexpr char kTimes[] = ",\"seconds\":{";
  for (size_t begin; (begin = lines.find(kTimes)) != std::string::npos;) lines.erase(begin, lines.find('}', begin) + 1 - begin);
  return lines;
}

// Flags without which a program of ModelPrograms() asks for another file than its model first.
inline std::vector<std::string> WithoutOtherFiles(const std::string& program) {
  if (program == "tessera_lever") return {"--systems=flash_ar"};
  return {};
}

inline Ended RunProgram(const std::string& name, const std::vector<std::string>& arguments, const std::string& input = "") {
  signal(SIGPIPE, SIG_IGN);  // A program may end before reading its input.
  return Program(name, arguments).Finish(input);
}

// Returns Programs(), and after each its subcommands, such as "tessera_bench rows".
inline const std::vector<std::string>& Commands() {
  static const std::vector<std::string> commands = [] {
    std::vector<std::string> names;
    for (const std::string& program : Programs()) {
      names.push_back(program);
      const JsonValue help = Json(RunProgram(program, {"--help", "--json"}).output);
      if (!help.Has("subcommands")) continue;
      const JsonValue subcommands = *help.Array("subcommands");
      for (int64_t i = 0; i < subcommands.size(); ++i) names.push_back(program + " " + *subcommands[i].String("name"));
    }
    return names;
  }();
  return commands;
}

}  // namespace tessera
