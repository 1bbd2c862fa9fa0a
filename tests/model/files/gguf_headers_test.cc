// GGUF headers without the tensors' data: GgufFile::HeaderOf and ParseHeaders.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/files/weights.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"
#include "tessera/tests/fakes/split_model.h"

namespace tessera {
namespace {

std::vector<GgufFile::Header> HeadersOf(const GgufFile& file) {
  std::vector<GgufFile::Header> headers;
  for (int part = 0; part < file.parts(); ++part) headers.push_back(Must(file.HeaderOf(part)));
  return headers;
}

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void ExpectSameModel(const GgufFile& found, const GgufFile& expected) {
  ASSERT_EQ(found.metadata().size(), expected.metadata().size());
  for (size_t i = 0; i < expected.metadata().size(); ++i) {
    EXPECT_EQ(found.metadata()[i].first, expected.metadata()[i].first);
    EXPECT_EQ(found.metadata()[i].second.bytes, expected.metadata()[i].second.bytes);
  }
  ASSERT_EQ(found.tensors().size(), expected.tensors().size());
  for (size_t i = 0; i < expected.tensors().size(); ++i) {
    EXPECT_EQ(found.tensors()[i].name, expected.tensors()[i].name);
    EXPECT_EQ(found.tensors()[i].offset, expected.tensors()[i].offset);
    EXPECT_EQ(found.tensors()[i].part, expected.tensors()[i].part);
  }
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_EQ(found.unused_bytes(), expected.unused_bytes());
}

TEST(GgufHeaders, TellAllOfAModelButItsNumbers) {
  const std::string bytes = TinyModelBuilder({}).Build();
  const auto whole = Must(GgufFile::Parse(BytesOf(bytes), "whole"));
  const auto header = Must(GgufFile::ParseHeaders(HeadersOf(*whole), "header"));
  ExpectSameModel(*header, *whole);
  EXPECT_EQ(header->path(), "header");
  const ModelConfig config = Must(ReadModelConfig(*header));
  EXPECT_EQ(Must(WeightLayout::Plan(*header, config, WeightEncoding::kPacked)).TotalBytes(),
            Must(WeightLayout::Plan(*whole, config, WeightEncoding::kPacked)).TotalBytes());
  EXPECT_TRUE(ReadTokenizer(*header).ok());
  std::vector<std::byte> data(4);
  EXPECT_EQ(header->Read(header->tensors()[0], 0, absl::MakeSpan(data)),
            absl::FailedPreconditionError("header: tensor \"token_embd.weight\": found its header only, expected its data"));
}

TEST(GgufHeaders, OfASplitModelAreJoined) {
  const SplitModel model(TinyModelBuilder({}).Split(3));
  const auto whole = Must(GgufFile::Open(model.Path(1)));
  std::vector<GgufFile::Header> headers = HeadersOf(*whole);
  ASSERT_EQ(headers.size(), 3u);
  ExpectSameModel(*Must(GgufFile::ParseHeaders(headers, "header")), *whole);

  const auto refused = [&](std::vector<GgufFile::Header> some) {
    return std::string(GgufFile::ParseHeaders(std::move(some), "header").status().message());
  };
  EXPECT_TRUE(absl::StrContains(refused({headers[0], headers[1]}), "found 3, expected 2, as the headers beside it say"));
  EXPECT_TRUE(
      absl::StrContains(refused({headers[1], headers[0], headers[2]}), "found 1, expected 0, as the headers beside it say"));
  EXPECT_TRUE(absl::StrContains(refused({headers[0]}), "found 3, expected 1, as the headers beside it say"));
  EXPECT_EQ(refused({}), "header: headers: found none, expected 1 or more");
}

// Every bad file's beginning is refused by the same words, or for the place where it ends.
TEST(GgufHeaders, AreAsHostileAsFiles) {
  for (const BadFile& file : BadGgufFiles()) {
    const absl::Span<const std::byte> bytes = BytesOf(file.bytes);
    const GgufFile::Header header{SharedBytes({bytes.begin(), bytes.end()}), static_cast<int64_t>(bytes.size())};
    const absl::Status status = GgufFile::ParseHeaders({header}, "header").status();
    EXPECT_EQ(status, absl::InvalidArgumentError("header: " + file.message)) << file.name;
  }
}

// The data must have been within the file it came from, and the header end where its table does.
TEST(GgufHeaders, SizesAreCheckedAgainstTheOriginalFile) {
  const std::string bytes = SmallGguf().Build();
  const GgufFile::Header good = Must(Must(GgufFile::Parse(BytesOf(bytes), "whole"))->HeaderOf(0));
  const absl::Span<const std::byte> good_bytes = good.bytes.span();
  const auto message = [](const GgufFile::Header& header) {
    return std::string(GgufFile::ParseHeaders({header}, "header").status().message());
  };
  EXPECT_EQ(message(good), "");
  GgufFile::Header header = good;
  header.file_bytes = 600;
  EXPECT_EQ(message(header), "header: tensor \"b\" data at byte 544: the file is truncated: needs 68 bytes, 56 left");
  header.file_bytes = 10;
  EXPECT_EQ(message(header), absl::StrCat("header: header 0: found ", good_bytes.size(), " bytes, expected at most 10"));
  header = good;
  std::vector<std::byte> longer(good_bytes.begin(), good_bytes.end());
  longer.push_back(std::byte{0});
  header.bytes = SharedBytes(longer);
  EXPECT_EQ(message(header), absl::StrCat("header: header 0: found ", longer.size(), " bytes, expected ", good_bytes.size(),
                                          ", to the end of the table of tensors"));
  for (size_t size = 0; size < good_bytes.size(); ++size) {
    header.bytes = SharedBytes({good_bytes.begin(), good_bytes.begin() + size});
    EXPECT_TRUE(absl::StrContains(message(header), absl::StrCat("expected metadata and tensor table to end before byte ", size)))
        << message(header);
  }
}

}  // namespace
}  // namespace tessera
