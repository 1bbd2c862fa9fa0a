#include "tessera/runtime/session/internal/session_format.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers lie in the file as in memory");

constexpr char kMagic[8] = "tsrsess";
constexpr uint32_t kVersion = 2;
constexpr int64_t kChecked = 16;                  // The first byte under the head's checksum.
constexpr int64_t kPiece = int64_t{64} << 10;     // Bytes that are read at once to check the head.

std::string Message(const std::string& path, absl::string_view field, const absl::AlphaNum& found, const absl::AlphaNum& expected) {
  return absl::StrCat(path, ": ", field, ": found ", found, ", expected ", expected);
}

absl::Status Damaged(const std::string& path, absl::string_view field, const absl::AlphaNum& found, const absl::AlphaNum& expected) {
  return absl::DataLossError(Message(path, field, found, expected));
}

std::string HexOf(uint64_t number) { return absl::StrCat(absl::Hex(number)); }

template <typename Number>
absl::Span<std::byte> BytesOf(std::vector<Number>& numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()), numbers.size() * sizeof(Number)};
}

absl::StatusOr<int64_t> HeadBytes(const SessionHeader& header) {
  int64_t bytes = sizeof header;
  for (const uint32_t numbers : {header.tokens, header.layers, header.logits}) {
    ASSIGN_OR_RETURN(const int64_t more, CheckedMul(numbers, sizeof(uint32_t)));
    ASSIGN_OR_RETURN(bytes, CheckedAdd(bytes, more));
  }
  return CheckedAdd(bytes, header.notes);
}

// Reads the header. Checks the writing program and version before the file's size, as another version may have its checksum elsewhere. If
// the file ends within the magic or the version, only the bytes that are there are compared.
absl::StatusOr<SessionHeader> ReadHeader(const RandomAccessFile& file) {
  SessionHeader header;
  const size_t there = std::min<size_t>(file.size(), sizeof header);
  RETURN_IF_ERROR(file.Read(0, {reinterpret_cast<std::byte*>(&header), there}));
  if (std::memcmp(header.magic, kMagic, std::min(there, sizeof kMagic)) != 0) {
    return absl::InvalidArgumentError(Message(file.path(), "magic", "other bytes", "those of a session"));
  }
  if (there >= offsetof(SessionHeader, checksum) && header.version != kVersion) {
    const absl::string_view older = header.version == 1 ? ", which knows models and adapters by 64 bits that can be forged" : "";
    return absl::InvalidArgumentError(Message(file.path(), "version", absl::StrCat(header.version, older),
                                              absl::StrCat(kVersion, older.empty() ? "" : ": write the text anew, to another file")));
  }
  if (there < sizeof header) {
    return Damaged(file.path(), "size", absl::StrCat(there, " bytes"), absl::StrCat(sizeof header, " or more"));
  }
  return header;
}

absl::Status CheckHead(const RandomAccessFile& file, const SessionHeader& header) {
  ASSIGN_OR_RETURN(const int64_t end, HeadBytes(header));
  if (file.size() < end) return Damaged(file.path(), "size", absl::StrCat(file.size(), " bytes"), absl::StrCat(end, " or more"));
  std::vector<std::byte> piece(std::min(kPiece, end));
  uint32_t found = 0;
  for (int64_t at = kChecked; at < end; at += kPiece) {
    const absl::Span<std::byte> part = absl::MakeSpan(piece).first(std::min(kPiece, end - at));
    RETURN_IF_ERROR(file.Read(at, part));
    found = Crc32c(part, found);
  }
  return found == header.checksum ? absl::OkStatus() : WrongSessionChecksum(file.path(), "checksum", found, header.checksum);
}

std::string FormatText(uint32_t format) {
  return format <= static_cast<uint32_t>(KvFormat::kFloat) ? KvFormatName(static_cast<KvFormat>(format)) : absl::StrCat("format ", format);
}

// Returns the device's name without the zeros at its end.
std::string DeviceOf(const SessionHeader& header) {
  absl::string_view device(header.device, sizeof header.device);
  while (!device.empty() && device.back() == '\0') device.remove_suffix(1);
  return Quoted(device);
}

absl::Status CheckOwner(const std::string& path, const SessionHeader& header, const SessionHeader& expected) {
  const auto other = [&](absl::string_view field, const absl::AlphaNum& found, const absl::AlphaNum& wanted) {
    return absl::InvalidArgumentError(Message(path, field, found, wanted));
  };
  if (std::memcmp(header.device, expected.device, sizeof header.device) != 0) {
    return other("device", DeviceOf(header), DeviceOf(expected));
  }
  if (header.numerics != expected.numerics) return other("numerics", header.numerics, expected.numerics);
  if (header.kv_format != expected.kv_format) {
    return other("format of keys and values", FormatText(header.kv_format), FormatText(expected.kv_format));
  }
  if (header.layers != expected.layers) return other("layers", header.layers, expected.layers);
  if (header.position_bytes != expected.position_bytes) {
    return other("bytes of a position", header.position_bytes, expected.position_bytes);
  }
  if (header.vocabulary != expected.vocabulary) return other("vocabulary", header.vocabulary, expected.vocabulary);
  if (header.model != expected.model) return other("model", header.model.Hex(), expected.model.Hex());
  const auto adapter_of = [](const SessionHeader& owner) { return owner.adapter.empty() ? std::string("none") : owner.adapter.Hex(); };
  if (header.adapter != expected.adapter) return other("adapter", adapter_of(header), adapter_of(expected));
  return absl::OkStatus();
}

absl::Status CheckCounts(const std::string& path, const SessionHeader& header, int context) {
  if (header.tokens > static_cast<uint32_t>(context)) {
    return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat(path, ": context: found ", header.tokens,
                                                                          " tokens, expected at most ", context)));
  }
  if (header.held > header.tokens) return Damaged(path, "positions", header.held, absl::StrCat("at most ", header.tokens));
  const bool can_have_logits = header.tokens > 0;
  if (header.logits != 0 && (header.logits != header.vocabulary || !can_have_logits)) {
    return Damaged(path, "logits", header.logits, can_have_logits ? absl::StrCat("0 or ", header.vocabulary) : "0, as there are no tokens");
  }
  if (header.notes > kLongestNotes) {
    return Damaged(path, "notes", absl::StrCat(header.notes, " bytes"), absl::StrCat("at most ", kLongestNotes));
  }
  return header.zero == 0 ? absl::OkStatus() : Damaged(path, "zero", header.zero, 0);
}

absl::Status CheckNumbers(const std::string& path, const SessionHead& head) {
  for (size_t i = 0; i < head.tokens.size(); ++i) {
    if (head.tokens[i] >= 0 && static_cast<uint32_t>(head.tokens[i]) < head.header.vocabulary) continue;
    return Damaged(path, absl::StrCat("token ", i), head.tokens[i], absl::StrCat("0 to ", int64_t{head.header.vocabulary} - 1));
  }
  for (size_t layer = 0; layer < head.held_from.size(); ++layer) {
    const uint32_t from = static_cast<uint32_t>(head.held_from[layer]);
    if (from > head.header.held) {
      return Damaged(path, absl::StrCat("first position of layer ", layer), from, absl::StrCat("0 to ", head.header.held));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const RandomAccessFile& file, const SessionHead& head) {
  int64_t size = head.Bytes();
  for (size_t layer = 0; layer < head.held_from.size(); ++layer) {
    ASSIGN_OR_RETURN(const int64_t positions, CheckedMul(int64_t{head.header.held} - head.held_from[layer], head.header.position_bytes));
    ASSIGN_OR_RETURN(size, CheckedAdd(size, positions));
    ASSIGN_OR_RETURN(size, CheckedAdd(size, sizeof(uint32_t)));
  }
  return file.size() == size ? absl::OkStatus() : Damaged(file.path(), "size", absl::StrCat(file.size(), " bytes"), size);
}

}  // namespace

absl::Status WrongSessionChecksum(const std::string& path, const std::string& field, uint32_t found, uint32_t expected) {
  return Damaged(path, field, HexOf(found), HexOf(expected));
}

absl::StatusOr<bool> HasSessionMagic(const RandomAccessFile& file) {
  char magic[sizeof kMagic];
  if (file.size() < static_cast<int64_t>(sizeof magic)) return false;
  RETURN_IF_ERROR(file.Read(0, {reinterpret_cast<std::byte*>(magic), sizeof magic}));
  return std::memcmp(magic, kMagic, sizeof magic) == 0;
}

std::string SessionHead::Encode() const {
  SessionHeader first = header;
  std::memcpy(first.magic, kMagic, sizeof kMagic);
  first.version = kVersion;
  first.tokens = static_cast<uint32_t>(tokens.size());
  first.logits = static_cast<uint32_t>(logits.size());
  first.notes = static_cast<uint32_t>(notes.size());
  const auto append = [](std::string& to, const auto& numbers) {
    to.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]);
  };
  std::string bytes(reinterpret_cast<const char*>(&first), sizeof first);
  append(bytes, tokens);
  append(bytes, held_from);
  append(bytes, logits);
  bytes.append(notes);
  first.checksum = Crc32c({reinterpret_cast<const std::byte*>(bytes.data()) + kChecked, bytes.size() - kChecked});
  std::memcpy(bytes.data(), &first, sizeof first);
  return bytes;
}

int64_t SessionHead::Bytes() const {
  return static_cast<int64_t>(sizeof header + (tokens.size() + held_from.size() + logits.size()) * sizeof(uint32_t) + notes.size());
}

absl::StatusOr<SessionHead> ReadSessionHead(const RandomAccessFile& file, const SessionHeader& expected, int context) {
  SessionHead head;
  ASSIGN_OR_RETURN(head.header, ReadHeader(file));
  RETURN_IF_ERROR(CheckHead(file, head.header));
  RETURN_IF_ERROR(CheckOwner(file.path(), head.header, expected));
  RETURN_IF_ERROR(CheckCounts(file.path(), head.header, context));
  head.tokens.resize(head.header.tokens);
  head.held_from.resize(head.header.layers);
  head.logits.resize(head.header.logits);
  head.notes.resize(head.header.notes);
  int64_t offset = sizeof head.header;
  const absl::Span<std::byte> notes(reinterpret_cast<std::byte*>(head.notes.data()), head.notes.size());
  for (const absl::Span<std::byte> part : {BytesOf(head.tokens), BytesOf(head.held_from), BytesOf(head.logits), notes}) {
    RETURN_IF_ERROR(file.Read(offset, part));
    offset += static_cast<int64_t>(part.size());
  }
  RETURN_IF_ERROR(CheckNumbers(file.path(), head));
  RETURN_IF_ERROR(CheckSize(file, head));
  return head;
}

}  // namespace tessera
