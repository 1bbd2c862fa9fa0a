// The main of every test binary: GoogleTest with glog on stderr, and quiet below an error.
#include "glog/logging.h"
#include "gtest/gtest.h"

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging(argv[0]);
  // Death tests start the binary anew, unless the command line says otherwise: a fork of a process with threads could hang.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
