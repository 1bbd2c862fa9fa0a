// The functions that libFuzzer calls. Its own main reads the flags.
#include "glog/logging.h"
#include "tessera/tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_FATAL;  // A refused input is no news.
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::RunInput({reinterpret_cast<const std::byte*>(data), size}).IgnoreError();
  return 0;
}
