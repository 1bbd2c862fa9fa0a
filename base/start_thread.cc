#include "tessera/base/start_thread.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<std::thread> StartThread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", error.code().message()));
  }
}

}  // namespace tessera
