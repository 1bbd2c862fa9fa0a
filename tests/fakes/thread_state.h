// Tells which threads wait in the system: a thread that is asleep has come as far as it can.
//
//   std::atomic<pid_t> writer = 0;
//   std::thread thread([&] { writer = gettid(); EXPECT_EQ(truncate(path, 0), 0); done = true; });
//   EXPECT_TRUE(Await([&] { return done || IsAsleep(writer); }));
//   EXPECT_FALSE(done);
//   EXPECT_TRUE(Await(OthersAreAsleep));                                // all threads of this process but the caller's
//   EXPECT_TRUE(Await([&] { return AllAreAsleep(program); }));          // of another process
//
// A thread that waits for a lock for a moment is asleep, too: the expectation must hold then as well.
#pragma once

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace tessera {

// Returns a state as in proc(5), 'S' for a sleep that a signal ends; '?' for a thread that does not exist.
inline char StateOf(pid_t thread) {
  std::ifstream stat("/proc/" + std::to_string(thread) + "/stat");
  std::string line;
  if (thread <= 0 || !std::getline(stat, line)) return '?';
  const size_t name_end = line.rfind(')');
  return name_end + 2 < line.size() ? line[name_end + 2] : '?';
}

inline bool IsAsleep(pid_t thread) { return StateOf(thread) == 'S'; }

inline std::vector<pid_t> ThreadsOf(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;   // Set if the process ends during the look.
  std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", gone);
  for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone)) {
    threads.push_back(static_cast<pid_t>(std::stoi(thread->path().filename())));
  }
  return threads;
}

inline bool AllAreAsleep(pid_t process) {
  const std::vector<pid_t> threads = ThreadsOf(process);
  for (const pid_t thread : threads) {
    if (!IsAsleep(thread)) return false;
  }
  return !threads.empty();
}

inline bool OthersAreAsleep() {
  for (const pid_t thread : ThreadsOf(getpid())) {
    if (thread != gettid() && !IsAsleep(thread)) return false;
  }
  return true;
}

// Returns the number and the arguments of the system call in which a thread of this process waits; empty for a thread that is awake.
inline std::vector<uint64_t> SystemCallOf(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::vector<uint64_t> call;
  for (std::string number; file >> number && std::isxdigit(static_cast<unsigned char>(number[0])) != 0;) {
    call.push_back(std::stoull(number, nullptr, 0));
  }
  return call;
}

// Returns the nanoseconds of computing so far, for all threads of a process or one thread of this process. The clock stands still while a
// thread waits, for a CPU as well. 0 if the process or thread has ended.
inline int64_t CpuNanos(clockid_t clock) {
  timespec used;
  return clock_gettime(clock, &used) == 0 ? int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec : 0;
}
inline int64_t CpuNanosOfProcess(pid_t process) {
  clockid_t clock;
  return clock_getcpuclockid(process, &clock) == 0 ? CpuNanos(clock) : 0;
}
inline int64_t CpuNanosOfThread(pid_t thread) {
  constexpr unsigned kOfThread = 4, kScheduled = 2;   // As the kernel numbers the clocks of threads.
  return CpuNanos(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | kOfThread | kScheduled));
}

}  // namespace tessera
