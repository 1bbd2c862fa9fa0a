// The main of every test binary: GoogleTest with glog on stderr, and quiet below an error.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "glog/logging.h"
#include "gtest/gtest.h"

// The process that starts a test may have closed them. A pipe or file of the test would then take their numbers, and be a program's input
// or output.
void OpenStandardDescriptors() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = open("/dev/null", O_RDWR);
  close(opened);
}

int main(int argc, char** argv) {
  OpenStandardDescriptors();
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging(argv[0]);
  testing::InitGoogleTest(&argc, argv);
  // Death tests start the binary anew: a fork of a process with threads could hang. The environment may ask for one all the same.
  if (std::getenv("GTEST_DEATH_TEST_STYLE") == nullptr) GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
