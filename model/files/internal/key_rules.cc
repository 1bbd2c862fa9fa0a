#include "tessera/model/files/internal/key_rules.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr uint64_t kBlockFormatsVersion = 2;  // The version of ggml since GGUF exists.

// Returns true for numbers and lists of numbers that are all 0 (or -0), for false, and for empty values.
bool IsNone(const GgufFile& file, absl::string_view key) {
  const GgufValue& value = *file.Find(key);
  if (value.element_type == GgufType::kString) {
    return value.type == GgufType::kArray ? value.count == 0 : (*value.Strings().begin()).empty();
  }
  if (const absl::StatusOr<double> number = file.Float(key); number.ok()) return *number == 0;
  return std::all_of(value.bytes.begin(), value.bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool IsOne(const GgufFile& file, absl::string_view key) {
  const absl::StatusOr<double> number = file.Float(key);
  const absl::StatusOr<int64_t> whole = file.Int(key);
  return (number.ok() && *number == 1) || (whole.ok() && *whole == 1);
}

absl::Status Unlike(const GgufFile& file, absl::string_view key, absl::string_view expected, const KeyRule& rule) {
  return file.Unexpected(key, absl::StrCat(expected, "; not supported here: ", rule.why));
}

absl::Status Judge(const GgufFile& file, absl::string_view key, const KeyRule& rule) {
  switch (rule.judgement) {
    case KeyRule::kRead:
    case KeyRule::kNoEffect: return absl::OkStatus();
    case KeyRule::kNone: return IsNone(file, key) ? absl::OkStatus() : Unlike(file, key, "0, false or nothing", rule);
    case KeyRule::kOne: return IsOne(file, key) ? absl::OkStatus() : Unlike(file, key, "1", rule);
    case KeyRule::kTrue: {
      ASSIGN_OR_RETURN(const bool on, file.Bool(key));
      return on ? absl::OkStatus() : Unlike(file, key, "true", rule);
    }
    case KeyRule::kText: {
      ASSIGN_OR_RETURN(const absl::string_view text, file.String(key));
      for (absl::string_view known : absl::StrSplit(rule.texts, '|')) {
        if (text == known) return absl::OkStatus();
      }
      return Unlike(file, key, absl::StrReplaceAll(rule.texts, {{"|", " or "}}), rule);
    }
  }
  return absl::OkStatus();
}

bool Covers(absl::string_view rule, absl::string_view key) {
  return absl::ConsumeSuffix(&rule, "*") ? absl::StartsWith(key, rule) : key == rule;
}

// The kind of a file that is no model, by general.type.
struct OtherKind { const char* type; const char* what; };
constexpr OtherKind kOtherKinds[] = {
    {"adapter", "an adapter, which changes a model that is in another file"},
    {"mmproj", "an image or audio tower, which feeds a model that is in another file"},
    {"projector", "an image or audio tower, which feeds a model that is in another file"},
    {"imatrix", "an importance matrix, with which models are quantized"},
    {"vocab", "a vocabulary without a model"},
};

}  // namespace

const KeyRule* FindKeyRule(absl::string_view key, std::initializer_list<KeyRules> tables) {
  for (const KeyRules table : tables) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const KeyRule& rule) { return Covers(rule.key, key); });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

absl::Status JudgeKeys(const GgufFile& file, absl::string_view prefix, std::initializer_list<KeyRules> tables) {
  for (const auto& [key, value] : file.metadata()) {
    absl::string_view rest = key;
    if (!absl::ConsumePrefix(&rest, prefix)) continue;
    const KeyRule* const rule = FindKeyRule(rest, tables);
    if (rule != nullptr) {
      RETURN_IF_ERROR(Judge(file, key, *rule));
      continue;
    }
    return file.Unexpected(key, "no key of this name: it is not known here, and may change results; if it does not, take it out of the "
                                "file (gguf-new-metadata, of the PyPI package gguf, removes metadata)");
  }
  return absl::OkStatus();
}

absl::Status JudgeKind(const GgufFile& file) {
  ASSIGN_OR_RETURN(const absl::string_view type, file.StringOr("general.type", "model"));
  if (type != "model") {
    const auto other = std::find_if(std::begin(kOtherKinds), std::end(kOtherKinds), [&](const OtherKind& k) { return type == k.type; });
    const std::string what = other == std::end(kOtherKinds) ? "" : absl::StrCat(": the file is ", other->what);
    return file.WrongValue("general.type", absl::StrCat("found ", Quoted(type), ", expected \"model\"", what));
  }
  for (const auto& [key, value] : file.metadata()) {
    if (absl::StartsWith(key, "adapter.")) return file.Unexpected(key, absl::StrCat("no such key: the file is ", kOtherKinds[0].what));
  }
  return absl::OkStatus();
}

absl::Status JudgeGeneralKeys(const GgufFile& file) {
  RETURN_IF_ERROR(JudgeKind(file));
  ASSIGN_OR_RETURN(const uint64_t version, file.UintOr("general.quantization_version", kBlockFormatsVersion));
  if (version == kBlockFormatsVersion) return absl::OkStatus();
  return file.WrongValue("general.quantization_version", absl::StrCat("found ", version, ", expected ", kBlockFormatsVersion,
                                                                      ": blocks of other versions hold other numbers"));
}

}  // namespace tessera
