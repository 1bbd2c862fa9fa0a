// Devices in processes that may not do everything: each test runs in a process of its own, which a seccomp filter, a limit
// or a switch of the kernel holds back.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/io_uring_device.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kFile = 8 << 20;
constexpr uint64_t kSeed = 21;

class SandboxedDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters: " << std::strerror(errno);
    WriteRandomFile(path_, kFile, kSeed);
    const absl::Status direct = OpenBlockDevice(*RandomAccessFile::Open(path_), {.io = IoKind::kPread}).status();
    if (!direct.ok()) GTEST_SKIP() << direct;
  }

  // Opens the file, prints how, reads all of it and ends the process: 0 if that worked.
  [[noreturn]] void ReadAndExit(IoKind io = IoKind::kAuto, int64_t buffer_bytes = kFile, bool probe = true) {
    AlignedBuffer buffer = *AlignedBuffer::Allocate(buffer_bytes);
    CHECK_EQ(buffer.PrepareForDevices(), absl::OkStatus());
    const absl::StatusOr<OpenedDevice> opened =
        OpenBlockDevice(*RandomAccessFile::Open(path_), {.io = io, .probe_in_child = probe, .buffers = buffer.bytes()});
    if (!opened.ok()) {
      std::cerr << opened.status() << "\n";
      _exit(2);
    }
    std::cerr << opened->reason << "; on large pages: " << buffer.LargePageBytes() << "\n";
    BlockReader reader(*opened->device);
    reader.Start({0, buffer.bytes().first(kFile), 0});
    const absl::Status status = reader.Next().status;
    if (!status.ok()) std::cerr << status << "\n";
    _exit(status.ok() && HoldsRandomBytes(buffer.bytes().first(kFile), 0, kSeed) ? 0 : 1);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("weights");
};
using SandboxedDeviceDeathTest = SandboxedDevice;

// Those that need io_uring where nothing holds them back.
class SandboxedIoUringDeathTest : public SandboxedDevice {
 protected:
  void SetUp() override {
    if (const absl::Status usable = ProbeIoUring(); !usable.ok()) GTEST_SKIP() << usable;
    SandboxedDevice::SetUp();
  }
};

const testing::ExitedWithCode kRead(0), kRefused(2);

TEST_F(SandboxedIoUringDeathTest, WithoutRestrictionsIoUringUsesAllItsFeatures) {
  EXPECT_EXIT(ReadAndExit(), kRead, "io_uring: .*, file registered, buffers registered");
}

TEST_F(SandboxedDeviceDeathTest, WhereIoUringIsNotPermittedThreadsRead) {
  EXPECT_EXIT(Restrict(SCMP_SYS(io_uring_setup), SCMP_ACT_ERRNO(EPERM)); ReadAndExit(), kRead,
              "pread: io_uring: Operation not permitted");
  EXPECT_EXIT(Restrict(SCMP_SYS(io_uring_setup), SCMP_ACT_ERRNO(EPERM)); ReadAndExit(IoKind::kIoUring), kRefused,
              "FAILED_PRECONDITION: .*weights: io io_uring: io_uring: Operation not permitted");
}

TEST_F(SandboxedDeviceDeathTest, WhereIoUringDoesNotExistThreadsRead) {
  EXPECT_EXIT(Restrict(SCMP_SYS(io_uring_setup), SCMP_ACT_ERRNO(ENOSYS)); ReadAndExit(), kRead,
              "pread: io_uring: Function not implemented");
}

TEST_F(SandboxedDeviceDeathTest, WhereThereIsNoMemoryForARingThreadsRead) {
  EXPECT_EXIT(Restrict(SCMP_SYS(io_uring_setup), SCMP_ACT_ERRNO(ENOMEM)); ReadAndExit(), kRead,
              "pread: io_uring: Cannot allocate memory");
}

TEST_F(SandboxedDeviceDeathTest, WhereIoUringKillsThreadsRead) {
  for (const int system_call : {SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register)}) {
    for (const uint32_t action : {SCMP_ACT_KILL_PROCESS, SCMP_ACT_KILL_THREAD, SCMP_ACT_TRAP}) {
      if (kThreadSanitized && action == SCMP_ACT_KILL_THREAD) continue;  // Its own thread would live on, and the process with it.
      EXPECT_EXIT(Restrict(system_call, action); ReadAndExit(), kRead, "pread: io_uring: a process that uses it is killed");
    }
  }
}

TEST_F(SandboxedDeviceDeathTest, WhereIoUringKillsTheProcessOnlyARequestByNameUsesIoUring) {
  const auto read = [&](IoKind io) {
    Restrict(SCMP_SYS(io_uring_setup), SCMP_ACT_KILL_PROCESS);
    ReadAndExit(io, kFile, /*probe=*/false);
  };
  EXPECT_EXIT(read(IoKind::kAuto), kRead, "pread: io_uring: not tried, as probe_in_child is off");
  EXPECT_EXIT(read(IoKind::kIoUring), testing::KilledBySignal(SIGSYS), "");
}

TEST_F(SandboxedDeviceDeathTest, WhereARingMayBeMadeAndNotUsedThreadsRead) {
  for (const int system_call : {SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register)}) {
    EXPECT_EXIT(Restrict(system_call, SCMP_ACT_ERRNO(EACCES)); ReadAndExit(), kRead, "pread: io_uring: Permission denied");
  }
}

TEST_F(SandboxedIoUringDeathTest, WhereNothingMayBeRegisteredIoUringReadsAllTheSame) {
  for (const scmp_datum_t what : {IORING_REGISTER_BUFFERS, IORING_REGISTER_FILES}) {
    EXPECT_EXIT(Restrict(SCMP_SYS(io_uring_register), SCMP_ACT_ERRNO(EACCES), {SCMP_A1(SCMP_CMP_EQ, what)}); ReadAndExit(), kRead,
                "io_uring: ");
  }
}

// O_DIRECT is one bit of openat's third argument.
void RefuseDirect() { Restrict(SCMP_SYS(openat), SCMP_ACT_ERRNO(EINVAL), {SCMP_A2(SCMP_CMP_MASKED_EQ, O_DIRECT, O_DIRECT)}); }

TEST_F(SandboxedDeviceDeathTest, WhereDirectReadsAreRefusedThePageCacheIsUsed) {
  EXPECT_EXIT(RefuseDirect(); ReadAndExit(), kRead, "buffered: O_DIRECT: Invalid argument");
  for (const IoKind io : {IoKind::kIoUring, IoKind::kPread}) {
    EXPECT_EXIT(RefuseDirect(); ReadAndExit(io), kRefused, "weights: io .*: O_DIRECT: Invalid argument");
  }
}

// Not for the child that tries io_uring.
bool IsOurs(pid_t thread) { return access(("/proc/self/task/" + std::to_string(thread)).c_str(), F_OK) == 0; }

bool IsDirect(int descriptor) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(descriptor));
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("flags:", 0) == 0) return std::stoi(line.substr(6), nullptr, 8) & O_DIRECT;
  }
  return false;
}

// As on Android's FUSE storage: a direct read says that all was read, and nothing was.
std::optional<int64_t> LieIfDirect(pid_t, const seccomp_data& call) {
  return IsDirect(static_cast<int>(call.args[0])) ? std::optional<int64_t>(call.args[2]) : std::nullopt;
}

TEST_F(SandboxedDeviceDeathTest, DirectReadsThatLieAreNotTrusted) {
  EXPECT_EXIT(WithAnswers(SCMP_SYS(pread64), LieIfDirect, [&] { ReadAndExit(); }), kRead,
              "buffered: O_DIRECT: byte 0 is another with O_DIRECT than without");
}

TEST_F(SandboxedIoUringDeathTest, ARingThatIsBusyForAWhileIsAskedAgain) {
  int calls = 0;
  const auto busy_at_first = [&](pid_t pid, const seccomp_data&) -> std::optional<int64_t> {
    return IsOurs(pid) && ++calls <= 30 ? std::optional<int64_t>(calls % 2 == 0 ? -EBUSY : -EAGAIN) : std::nullopt;
  };
  EXPECT_EXIT(WithAnswers(SCMP_SYS(io_uring_enter), busy_at_first, [&] { ReadAndExit(); }), kRead, "io_uring: ");
}

// Copied as another process would, for it may be one, and a sanitizer does not know that the caller waits.
io_uring_params AskedOfRing(pid_t pid, const seccomp_data& call) {
  io_uring_params asked;
  const iovec here = {&asked, sizeof(asked)}, there = {reinterpret_cast<void*>(call.args[1]), sizeof(asked)};
  CHECK_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), static_cast<ssize_t>(sizeof(asked)));
  return asked;
}

// A kernel that does not know some flags of a ring.
auto KernelWithout(unsigned flags) {
  return [flags](pid_t pid, const seccomp_data& call) -> std::optional<int64_t> {
    return AskedOfRing(pid, call).flags & flags ? std::optional<int64_t>(-EINVAL) : std::nullopt;
  };
}

TEST_F(SandboxedIoUringDeathTest, OlderKernelsGetARingWithTheirKnownFlags) {
  constexpr unsigned kSince61 = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  constexpr unsigned kSince519 = kSince61 | IORING_SETUP_COOP_TASKRUN;
  constexpr int kSetup = SCMP_SYS(io_uring_setup);
  EXPECT_EXIT(WithAnswers(kSetup, KernelWithout(kSince61), [&] { ReadAndExit(); }), kRead, "io_uring: cooperative task work,");
  EXPECT_EXIT(WithAnswers(kSetup, KernelWithout(kSince519), [&] { ReadAndExit(); }), kRead, "io_uring: no options,");
  EXPECT_EXIT(WithAnswers(kSetup, KernelWithout(IORING_SETUP_R_DISABLED), [&] { ReadAndExit(); }), kRead,
              "pread: io_uring: Invalid argument");
}

// The child that tried io_uring got a ring; then memory ran out.
TEST_F(SandboxedIoUringDeathTest, WhereMemoryEndsBeforeTheRingThreadsRead) {
  const auto none_for_us = [](pid_t pid, const seccomp_data&) -> std::optional<int64_t> {
    return IsOurs(pid) ? std::optional<int64_t>(-ENOMEM) : std::nullopt;
  };
  EXPECT_EXIT(WithAnswers(SCMP_SYS(io_uring_setup), none_for_us, [&] { ReadAndExit(); }), kRead,
              "pread: io_uring: cannot make a ring: Cannot allocate memory");
}

// A ring for one read at a time, and a queue for one completion, whatever was asked for.
std::optional<int64_t> MakeSmallestRing(pid_t pid, const seccomp_data& call) {
  io_uring_params asked = AskedOfRing(pid, call);
  asked.flags |= IORING_SETUP_CQSIZE;
  asked.cq_entries = 1;
  const int64_t ring = syscall(SYS_io_uring_setup, 1, &asked);
  if (ring < 0) return -errno;
  const iovec here = {&asked, sizeof(asked)}, there = {reinterpret_cast<void*>(call.args[1]), sizeof(asked)};
  CHECK_EQ(process_vm_writev(pid, &here, 1, &there, 1, 0), static_cast<ssize_t>(sizeof(asked)));
  return ring;
}

// Completions that the kernel keeps for as long as there is no room for them in the queue.
bool HasOverflow(int ring) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(ring));
  std::string line;
  while (std::getline(info, line) && line.rfind("CqOverflowList", 0) != 0) continue;
  return std::getline(info, line) && line.find("user_data") != std::string::npos;
}

TEST_F(SandboxedIoUringDeathTest, CompletionsThatTheQueueHasNoRoomForComeLater) {
  bool seen = false;
  const auto answer = [&](pid_t pid, const seccomp_data& call) -> std::optional<int64_t> {
    if (!IsOurs(pid)) return std::nullopt;
    if (call.nr == SCMP_SYS(io_uring_setup)) return MakeSmallestRing(pid, call);
    const bool waiting = call.args[3] & IORING_ENTER_GETEVENTS;
    if (waiting && !seen) usleep(30'000);   // For all that is in flight to be done, which shows nowhere before the thread is in the kernel.
    if (!std::exchange(seen, seen || HasOverflow(static_cast<int>(call.args[0]))) && seen) std::cerr << "overflowed\n";
    return std::nullopt;
  };
  EXPECT_EXIT(WithAnswers({SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter)}, answer, [&] { ReadAndExit(); }), kRead,
              "io_uring: .*overflowed");
}

void DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  PCHECK(syscall(SYS_capset, &header, none) == 0);
}

TEST_F(SandboxedIoUringDeathTest, WhereNoMemoryMayBeLockedIoUringReadsUnregisteredBuffers) {
  const auto limit = [&](rlim_t bytes) {
    const rlimit few = {bytes, bytes};
    PCHECK(setrlimit(RLIMIT_MEMLOCK, &few) == 0);
    DropCapabilities();
    ReadAndExit(IoKind::kAuto, 2 * kFile);
  };
  for (const rlim_t bytes : {64 << 10, 8 << 20}) {  // The latter is what systems allow by default.
    EXPECT_EXIT(limit(bytes), kRead, "io_uring: .*, buffers not registered: Cannot allocate memory");
  }
}

TEST_F(SandboxedDeviceDeathTest, WithoutLargePagesTheDeviceReadsIntoSmallPages) {
  const auto disable = [&](IoKind io) {
    PCHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
    ReadAndExit(io);
  };
  for (const IoKind io : {IoKind::kAuto, IoKind::kPread, IoKind::kBuffered}) {
    EXPECT_EXIT(disable(io), kRead, "; on large pages: 0\n");
  }
}

TEST_F(SandboxedDeviceDeathTest, InMemoryFileSystemsAreReadByAnAllowedKind) {
  const TemporaryFolder in_memory(TemporaryFolder::InMemory());
  const std::string path = WriteRandomFile(in_memory.Path("weights"), kFile, kSeed);
  const absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(*RandomAccessFile::Open(path));
  ASSERT_TRUE(opened.ok()) << opened.status();
  AlignedBuffer buffer = *AlignedBuffer::Allocate(kFile);
  BlockReader reader(*opened->device);
  reader.Start({0, buffer.bytes(), 0});
  EXPECT_EQ(reader.Next().status, absl::OkStatus());
  EXPECT_TRUE(HoldsRandomBytes(buffer.bytes(), 0, kSeed));
}

}  // namespace
}  // namespace tessera
