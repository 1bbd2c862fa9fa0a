#include "tessera/base/byte_size.h"

#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::StatusOr<std::string> Example() {
  ASSIGN_OR_RETURN(int64_t budget, ParseByteSize("1.5GiB"));
  std::string shown = FormatByteSize(budget);
  return shown;
}

TEST(ByteSize, HeaderExample) { EXPECT_EQ(*Example(), "1.50 GiB"); }

TEST(ByteSize, EveryUnitHasItsValue) {
  const std::pair<absl::string_view, int64_t> cases[] = {
      {"0", 0}, {"42", 42}, {"42B", 42}, {"1KB", 1000}, {"2MB", 2'000'000}, {"3GB", 3'000'000'000}, {"1KiB", 1024},
      {"2MiB", 2 << 20}, {"3GiB", int64_t{3} << 30}, {"2gib", int64_t{2} << 30}, {"5kb", 5000}, {" 7 MiB ", 7 << 20},
      {"1.5KiB", 1536}, {"0.1GB", 100'000'000}, {"0.3KiB", 307}, {"1.999999999GB", 1'999'999'999},
      {"1K", 1024}, {"100M", 100 << 20}, {"1G", 1 << 30}, {"1.5g", int64_t{3} << 29}, {"1GB", 1'000'000'000},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()}, {"8589934591GiB", int64_t{8589934591} << 30}};
  for (const auto& [text, bytes] : cases) {
    const absl::StatusOr<int64_t> parsed = ParseByteSize(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

TEST(ByteSize, GarbageAndOverflowAreInvalidArgumentWithTheText) {
  for (absl::string_view text : {"", " ", "GiB", "-1", "+1", "1.", ".5GiB", "1.5", "1.5B", "1e9", "0x10", "1GiBs", "1 G B",
                                 "nan", "1.2.3MB", "1,5MB", "9223372036854775808", "99999999999999999999999999", "8589934592GiB",
                                 "1.1234567891GB", "1KK", "1T", "1Mi"}) {
    const absl::Status status = ParseByteSize(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(status.ToString().find("\"" + std::string(text) + "\""), std::string::npos) << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ParseByteSize(std::string(1'000'000, '9')).status()));
}

TEST(ByteSize, FormatsWithThreeDigitsInTheUnitThatFits) {
  const std::pair<int64_t, absl::string_view> cases[] = {
      {0, "0 B"}, {1023, "1023 B"}, {1024, "1.00 KiB"}, {10'239, "10.0 KiB"}, {1'048'575, "1.00 MiB"}, {36'909'875, "35.2 MiB"},
      {int64_t{1} << 32, "4.00 GiB"}, {500 << 20, "500 MiB"}, {-2048, "-2.00 KiB"}, {std::numeric_limits<int64_t>::max(), "8.00 EiB"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(FormatByteSize(bytes), text);
  EXPECT_EQ(FormatKnownByteSize(1024), "1.00 KiB");
  EXPECT_EQ(FormatKnownByteSize(std::nullopt), "not known");
}

}  // namespace
}  // namespace tessera
