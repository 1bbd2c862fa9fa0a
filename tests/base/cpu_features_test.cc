#include "tessera/base/cpu_features.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status Example(std::set<KernelPath>* tested) {
  KernelPath path = BestKernelPath();
  ASSIGN_OR_RETURN(path, KernelPathFromName("portable"));
  for (KernelPath path : SupportedKernelPaths()) tested->insert(path);
  return path == KernelPath::kPortable ? absl::OkStatus() : absl::InternalError("another path");
}

TEST(CpuFeatures, HeaderExample) {
  std::set<KernelPath> tested;
  EXPECT_TRUE(Example(&tested).ok());
  EXPECT_TRUE(tested.count(KernelPath::kPortable));
}

TEST(CpuFeatures, PathsComeSlowestFirstAndTheBestIsTheLast) {
  const std::vector<KernelPath> paths = SupportedKernelPaths();
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(paths.front(), KernelPath::kPortable);
  EXPECT_EQ(paths.back(), BestKernelPath());
  for (size_t i = 1; i < paths.size(); ++i) EXPECT_LT(paths[i - 1], paths[i]);
}

TEST(CpuFeatures, ANameIsAcceptedExactlyForSupportedPaths) {
  const std::vector<KernelPath> supported = SupportedKernelPaths();
  for (KernelPath path : {KernelPath::kPortable, KernelPath::kAvx2, KernelPath::kAvx512Vnni, KernelPath::kNeon}) {
    const absl::StatusOr<KernelPath> found = KernelPathFromName(KernelPathName(path));
    if (std::find(supported.begin(), supported.end(), path) != supported.end()) {
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(*found, path);
    } else {
      EXPECT_TRUE(absl::IsFailedPrecondition(found.status())) << found.status();
    }
  }
  EXPECT_EQ(*KernelPathFromName("auto"), BestKernelPath());
}

TEST(CpuFeatures, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  const absl::Status status = KernelPathFromName("avx1024").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.ToString().find("avx1024"), std::string::npos);
  EXPECT_NE(status.ToString().find("auto, portable"), std::string::npos);
}

}  // namespace
}  // namespace tessera
