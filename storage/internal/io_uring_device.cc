#include "tessera/storage/internal/io_uring_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The most bytes of one registered buffer (the kernel says EFAULT beyond).
constexpr size_t kLargestBuffer = size_t{1} << 30;

// From the newest kernels to the oldest: one that does not know a flag says EINVAL.
struct RingFlags {
  unsigned flags;
  absl::string_view name;
};
constexpr RingFlags kRingFlags[] = {
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, "deferred task work"},  // Linux 6.1
    {IORING_SETUP_COOP_TASKRUN, "cooperative task work"},                             // Linux 5.19
    {0, "no options"},
};

// For two seconds, before the ring is given up.
constexpr int kMostRefusals = 2000;
constexpr int64_t kRefusalPause = 1'000'000;  // Nanoseconds.

}  // namespace

absl::Status IoUringDevice::Error(int error, absl::string_view what) const {
  return absl::UnavailableError(absl::StrCat(path(), ": io_uring: cannot ", what, ": ", std::strerror(error)));
}

absl::StatusOr<std::unique_ptr<IoUringDevice>> IoUringDevice::Create(DeviceFile file, int depth, absl::Span<std::byte> buffers) {
  CHECK(depth > 0 && file.direct() >= 0);
  std::unique_ptr<IoUringDevice> device(new IoUringDevice(std::move(file), depth));
  RETURN_IF_ERROR(device->MakeRing());
  device->RegisterFile();
  device->RegisterBuffers(buffers);
  return device;
}

absl::Status IoUringDevice::MakeRing() {
  int result = -EINVAL;
  for (const RingFlags& option : kRingFlags) {
    // Disabled until the first Submit: the thread that enables a ring of a single issuer is that issuer.
    result = io_uring_queue_init(depth_, &ring_, option.flags | IORING_SETUP_R_DISABLED);
    setup_ = std::string(option.name);
    if (result != -EINVAL) break;
  }
  if (result < 0) return absl::FailedPreconditionError(absl::StrCat("io_uring: cannot make a ring: ", std::strerror(-result)));
  made_ = true;
  io_uring_ring_dontfork(&ring_);
  return absl::OkStatus();
}

// Registering file and buffers is optional, so no limit (RLIMIT_MEMLOCK above all) may keep us from reading.
void IoUringDevice::RegisterFile() {
  const int descriptor = file_.direct();
  file_registered_ = io_uring_register_files(&ring_, &descriptor, 1) == 0;
  if (file_registered_) setup_ += ", file registered";
}

void IoUringDevice::RegisterBuffers(absl::Span<std::byte> buffers) {
  std::vector<iovec> pieces;
  for (; !buffers.empty(); buffers.remove_prefix(pieces.back().iov_len)) {
    pieces.push_back({buffers.data(), std::min(buffers.size(), kLargestBuffer)});
  }
  if (pieces.empty()) return;
  const int result = io_uring_register_buffers(&ring_, pieces.data(), static_cast<unsigned>(pieces.size()));
  absl::StrAppend(&setup_, result == 0 ? ", buffers registered" : ", buffers not registered: ");
  if (result == 0) {
    buffers_ = std::move(pieces);
  } else {
    setup_ += std::strerror(-result);
  }
}

int IoUringDevice::BufferOf(absl::Span<std::byte> out) const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const std::byte* const begin = static_cast<std::byte*>(buffers_[i].iov_base);
    if (out.data() >= begin && out.data() + out.size() <= begin + buffers_[i].iov_len) return static_cast<int>(i);
  }
  return -1;
}

IoUringDevice::~IoUringDevice() {
  std::vector<Completion> done;
  while (in_flight_ > 0 && Wait(done).ok()) continue;
  if (made_) io_uring_queue_exit(&ring_);
}

absl::Status IoUringDevice::Submit(const Read& read) {
  if (!enabled_) {
    // Not io_uring_enable_rings: the shared library of liburing 2.3 does not export that function.
    const int result = io_uring_register(ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    if (result < 0) return Error(-result, "enable the ring");
    enabled_ = true;
  }
  CountIn(read);
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  CHECK(entry != nullptr) << path() << ": the ring has room for " << depth_ << " reads";
  const int descriptor = file_registered_ ? 0 : file_.direct();
  const unsigned bytes = static_cast<unsigned>(read.out.size());
  if (const int buffer = BufferOf(read.out); buffer >= 0) {
    io_uring_prep_read_fixed(entry, descriptor, read.out.data(), bytes, read.offset, buffer);
  } else {
    io_uring_prep_read(entry, descriptor, read.out.data(), bytes, read.offset);
  }
  if (file_registered_) entry->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data64(entry, read.tag);
  const int result = io_uring_submit(&ring_);
  // If the system refuses for now, the entry stays in the ring, and Wait submits the entry again.
  return result >= 0 || IsInterruption(-result) ? absl::OkStatus() : Error(-result, "submit a read");
}

absl::Status IoUringDevice::Wait(std::vector<Completion>& done) {
  CHECK_GT(in_flight_, 0) << path();
  for (int refused = 0;;) {
    io_uring_cqe* entry = nullptr;
    unsigned head = 0, count = 0;
    io_uring_for_each_cqe(&ring_, head, entry) {
      done.push_back({entry->user_data, entry->res});
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
    in_flight_ -= static_cast<int>(count);
    if (count > 0) return absl::OkStatus();
    const int result = io_uring_submit_and_wait(&ring_, 1);
    if (result >= 0 || result == -EINTR) continue;
    if (!IsInterruption(-result) || ++refused == kMostRefusals) return Error(-result, "wait");
    SleepNanos(kRefusalPause);
  }
}

}  // namespace tessera
