// Changes GGUF files so that most of them stay readable up to the change: entries and tensors are dropped, doubled, moved and
// rewritten one at a time, and the counts and lengths around them are made to fit again. Every fourth input, and every input that cannot be
// parsed, is changed as plain bytes instead. If an input has several files, one after the other, one of them is changed.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr char kMagic[] = "GGUF";
constexpr uint32_t kString = 8, kArray = 9;
constexpr size_t kRoom = 64;              // Bytes that one change may add.
constexpr size_t kAlignment = 32;         // Alignment of tensor data, unless the file has another one; offsets may then be wrong.
constexpr int kWidths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // Bytes of a number, by type.

// A metadata entry or a line of the tensor table: its name, and all that follows.
struct Item { std::string name, rest; };
struct Parts { std::string head; std::vector<Item> items[2]; std::string data; };   // items: tensors, then metadata, as counted.

template <typename T>
std::string Bytes(T value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); }

// Takes from the front; after a read past the end nothing is good any more.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  absl::string_view left() const { return bytes_; }
  std::string Take(uint64_t size) {
    good_ = good_ && size <= bytes_.size();
    if (!good_) return "";
    const std::string taken(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return taken;
  }
  template <typename T>
  T Number() {
    T value{};
    const std::string bytes = Take(sizeof value);
    if (good_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string Counted() { return Take(Number<uint64_t>()); }
  void SkipCounted() { Take(Number<uint64_t>()); }

 private:
  absl::string_view bytes_;
  bool good_ = true;
};

void SkipValue(Reader& reader) {
  uint32_t type = reader.Number<uint32_t>();
  uint64_t count = 1;
  if (type == kArray) {
    type = reader.Number<uint32_t>();
    count = reader.Number<uint64_t>();
  }
  if (type > 12 || type == kArray || count > reader.left().size()) {
    reader.Take(~uint64_t{0});
  } else if (type == kString) {
    for (; count > 0 && reader.good(); --count) reader.SkipCounted();
  } else {
    reader.Take(count * kWidths[type]);
  }
}

void SkipPlace(Reader& reader) {
  reader.Take(8 * uint64_t{reader.Number<uint32_t>()});
  reader.Take(4 + 8);  // Type, offset.
}

std::optional<Parts> TakeApart(absl::string_view file) {
  Reader reader(file);
  Parts parts;
  parts.head = reader.Take(8);
  const uint64_t tensors = reader.Number<uint64_t>(), entries = reader.Number<uint64_t>();
  for (const bool entry : {true, false}) {
    for (uint64_t left = entry ? entries : tensors; left > 0 && reader.good(); --left) {
      Item item = {reader.Counted(), ""};
      const absl::string_view before = reader.left();
      entry ? SkipValue(reader) : SkipPlace(reader);
      item.rest = std::string(before.substr(0, before.size() - reader.left().size()));
      parts.items[entry].push_back(std::move(item));
    }
  }
  if (!reader.good()) return std::nullopt;
  const size_t padding = tensors == 0 ? 0 : (kAlignment - (file.size() - reader.left().size()) % kAlignment) % kAlignment;
  parts.data = std::string(reader.left().substr(std::min(padding, reader.left().size())));
  return parts;
}

std::string PutTogether(const Parts& parts) {
  std::string file = parts.head + Bytes(uint64_t{parts.items[0].size()}) + Bytes(uint64_t{parts.items[1].size()});
  for (const bool entry : {true, false}) {
    for (const Item& item : parts.items[entry]) file += Bytes(uint64_t{item.name.size()}) + item.name + item.rest;
  }
  if (!parts.items[0].empty()) file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment);
  return file + parts.data;
}

void MutateText(std::string& text) {
  const size_t size = text.size();
  text.resize(size + kRoom);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
}

// Writes a number that sizes and counts trip over, at a place where a number may be.
void PutNumber(std::string& bytes, std::mt19937& random) {
  static constexpr uint64_t kNumbers[] = {0, 1, 2, 3, 4, 9, 31, 32, 33, 255, 256, 1 << 16, 1u << 31, ~0u, 1ull << 32, 1ull << 62,
                                          1ull << 63, ~0ull};
  const size_t width = random() % 2 == 0 ? 4 : 8;
  if (bytes.size() < width) return;
  const uint64_t number = kNumbers[random() % std::size(kNumbers)];
  std::memcpy(&bytes[random() % std::min<size_t>(bytes.size() - width + 1, 64) / 4 * 4], &number, width);
}

void MutateItem(Item& item, std::mt19937& random) {
  uint32_t type = 0;
  if (item.rest.size() >= 4) std::memcpy(&type, item.rest.data(), 4);
  switch (random() % 4) {
    case 0: return MutateText(item.name);
    case 1: return PutNumber(item.rest, random);
    case 2: return MutateText(item.rest);
    default: {
      if (type != kString || item.rest.size() < 12) return PutNumber(item.rest, random);
      std::string text = item.rest.substr(12);
      MutateText(text);
      item.rest = Bytes(kString) + Bytes(uint64_t{text.size()}) + text;
    }
  }
}

void Mutate(Parts& parts, std::mt19937& random) {
  std::vector<Item>& items = parts.items[random() % 2];
  if (items.empty()) return MutateText(parts.data);
  const size_t which = random() % items.size(), other = random() % items.size();
  switch (random() % 8) {
    case 0: items.erase(items.begin() + which); break;
    case 1: items.insert(items.begin() + other, Item(items[which])); break;
    case 2: std::swap(items[which], items[other]); break;
    case 3: items[which].rest = items[other].rest; break;
    case 4: MutateText(parts.data); break;
    default: MutateItem(items[which], random);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::mt19937 random(seed);
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<size_t> begins;
  for (size_t at = input.find(kMagic); at != input.npos; at = input.find(kMagic, at + 1)) begins.push_back(at);
  if (begins.empty() || random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t which = random() % begins.size(), begin = begins[which];
  const size_t end = which + 1 < begins.size() ? begins[which + 1] : size;
  std::optional<Parts> parts = TakeApart(input.substr(begin, end - begin));
  if (!parts.has_value()) return LLVMFuzzerMutate(data, size, max_size);
  Mutate(*parts, random);
  const std::string changed = absl::StrCat(input.substr(0, begin), PutTogether(*parts), input.substr(end));
  if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
