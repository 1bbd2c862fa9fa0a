#include "tessera/apps/lab/scale/sandbox/sandbox.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/sandbox/sandbox_filter.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The rights of Landlock's first version, which every later version has.
constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE, kList = LANDLOCK_ACCESS_FS_READ_DIR, kRun = LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kAll = kRead | kList | kRun | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                          LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                          LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                          LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

constexpr int kLowestNumber = 10;   // The open rules have this descriptor or a higher one, since a child's first files replace low ones.

// Returns the descriptor of new rules, or -1 without Landlock: kernels before 5.13, and kernels that start without Landlock.
absl::StatusOr<int> NewRules() {
  const landlock_ruleset_attr attributes = {.handled_access_fs = kAll};
  const int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0));
  if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP)) return -1;
  if (rules < 0) return absl::ErrnoToStatus(errno, "landlock_create_ruleset");
  const int moved = fcntl(rules, F_DUPFD_CLOEXEC, kLowestNumber);
  const int error = errno;
  close(rules);
  return moved < 0 ? absl::ErrnoToStatus(error, "fcntl(F_DUPFD_CLOEXEC)") : absl::StatusOr<int>(moved);
}

absl::Status Allow(int rules, const std::string& path, uint64_t rights) {
  const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return absl::OkStatus();
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  const landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = file};
  const long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  const int error = errno;
  close(file);
  return failed == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot allow reading it"));
}

// Gives up all rights of a superuser, for this process and the programs that the process executes. Returns null, or the name of the call
// that failed. A process without CAP_SETPCAP cannot empty the bounding set. The set then bounds nothing, but no_new_privs keeps programs
// from gaining the capabilities that the set still names.
const char* DropCapabilities() {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return "prctl(PR_CAPBSET_DROP)";
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return "prctl(PR_CAP_AMBIENT)";
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};   // Effective, permitted and inheritable.
  return syscall(SYS_capset, &header, none) == 0 ? nullptr : "capset";
}

}  // namespace

struct Sandbox::State {
  ~State() {
    if (rules >= 0) close(rules);
  }
  std::vector<sock_filter> filter = {};
  int rules = -1;
};

Sandbox::Sandbox(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sandbox::Sandbox(Sandbox&& other) noexcept = default;
Sandbox::~Sandbox() = default;

absl::StatusOr<Sandbox> Sandbox::Create(const SandboxOptions& options) {
  if (prctl(PR_GET_SECCOMP) < 0) {
    return absl::FailedPreconditionError("seccomp: found a system without filters of system calls, expected one to run code in");
  }
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->filter, ReadingFilter());
  ASSIGN_OR_RETURN(state->rules, NewRules());
  if (state->rules >= 0) {
    for (const std::string& folder : options.folders) RETURN_IF_ERROR(Allow(state->rules, folder, kRead | kList));
    for (const std::string& program : options.programs) RETURN_IF_ERROR(Allow(state->rules, program, kRead | kRun));
  }
  return Sandbox(std::move(state));
}

bool Sandbox::limits_reads() const { return state_->rules >= 0; }

const char* Sandbox::Enter() const {
  if (const char* const failed = DropCapabilities()) return failed;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "prctl(PR_SET_NO_NEW_PRIVS)";
  if (state_->rules >= 0 && syscall(SYS_landlock_restrict_self, state_->rules, 0) != 0) return "landlock_restrict_self";
  const sock_fprog program = {.len = static_cast<unsigned short>(state_->filter.size()), .filter = state_->filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return "prctl(PR_SET_SECCOMP)";
  return nullptr;
}

}  // namespace tessera
