#include "tessera/model/text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

constexpr int64_t kMaxWeight = int64_t{1} << 60;

}  // namespace

Value Value::Undefined(absl::string_view what) { return Value(Data(std::in_place_index<0>, std::make_shared<const std::string>(what))); }

Value Value::Of(Text text) { return Value(Data(std::make_shared<const Text>(std::move(text)))); }

Value Value::Of(Items items) {
  for (const Value& element : items.elements) {
    items.depth = std::max(items.depth, 1 + element.depth());
    items.weight = std::min(kMaxWeight, items.weight + element.weight());
  }
  return Value(Data(std::make_shared<const Items>(std::move(items))));
}

Value Value::Of(Mapping mapping) { return Value(Data(std::make_shared<const Mapping>(std::move(mapping)))); }

Value Value::List(std::vector<Value> elements) { return Of(Items{Items::Form::kList, std::move(elements)}); }

Value Value::Dict(std::vector<std::pair<std::string, Value>> entries) {
  Mapping mapping;
  for (auto& [key, value] : entries) mapping.Set(String(key), std::move(value));
  return Of(std::move(mapping));
}

int Value::depth() const {
  switch (kind()) {
    case Kind::kItems: return items().depth;
    case Kind::kMapping: return mapping().depth();
    case Kind::kObject: return object().depth();
    default: return 0;
  }
}

int64_t Value::weight() const {
  switch (kind()) {
    case Kind::kText: return 1 + static_cast<int64_t>(text().size() / 64);
    case Kind::kItems: return items().weight;
    case Kind::kMapping: return mapping().weight();
    default: return 1;
  }
}

std::string Value::undefined_what() const {
  const What& what = std::get<0>(data_);
  return what == nullptr ? "the value" : *what;
}

absl::StatusOr<Value> Value::FromJson(const JsonValue& json) {
  switch (json.kind()) {
    case JsonValue::Kind::kNull: return None();
    case JsonValue::Kind::kBool: return Bool(*json.AsBool());
    case JsonValue::Kind::kInt: return Int(*json.AsInt());
    case JsonValue::Kind::kUint: return json.Error("an integer beyond 64 bits", "a smaller one");
    case JsonValue::Kind::kDouble: {
      const double value = *json.AsDouble();
      // An integer of more than 64 bits was rounded during parsing.
      if (std::abs(value) >= 0x1p63) return json.Error("a number beyond 64 bits", "a smaller one");
      return Float(value);
    }
    case JsonValue::Kind::kString: return String(*json.AsString());
    case JsonValue::Kind::kArray: {
      std::vector<Value> elements;
      for (int64_t i = 0; i < json.size(); ++i) {
        ASSIGN_OR_RETURN(elements.emplace_back(), FromJson(json[i]));
      }
      return List(std::move(elements));
    }
    case JsonValue::Kind::kObject: {
      Mapping mapping;
      const std::vector<std::string> keys = json.Keys();
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSIGN_OR_RETURN(Value value, FromJson(json[static_cast<int64_t>(i)]));
        mapping.Set(String(keys[i]), std::move(value));
      }
      return Of(std::move(mapping));
    }
  }
  return None();
}

// The places of keys. Equal keys have equal hashes: 1, 1.0 and true are one key.
struct Mapping::Index {
  struct Hash {
    using is_transparent = void;
    size_t operator()(absl::string_view text) const { return absl::HashOf(text); }
    size_t operator()(const Value& key) const {
      switch (key.kind()) {
        case Value::Kind::kText: return (*this)(absl::string_view(key.text().bytes()));
        case Value::Kind::kBool:
        case Value::Kind::kInt: return absl::HashOf(key.integer());
        case Value::Kind::kFloat: {
          const double number = key.number();
          const bool whole = std::abs(number) < 0x1p63 && number == std::floor(number);
          return whole ? absl::HashOf(static_cast<int64_t>(number)) : absl::HashOf(number);
        }
        case Value::Kind::kItems: {
          size_t hash = key.items().elements.size();
          for (const Value& element : key.items().elements) hash = absl::HashOf(hash, (*this)(element));
          return hash;
        }
        case Value::Kind::kObject: return absl::HashOf(&key.object());
        default: return static_cast<size_t>(key.kind());
      }
    }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const Value& key, const Value& other) const { return Equal(key, other); }
    bool operator()(const Value& key, absl::string_view text) const { return key.is_text() && key.text().bytes() == text; }
    bool operator()(absl::string_view text, const Value& key) const { return (*this)(key, text); }
  };
  absl::flat_hash_map<Value, size_t, Hash, Same> places;

  template <typename Key>
  const Value* Find(const Key& key, const std::vector<Entry>& entries) const {
    const auto found = places.find(key);
    return found == places.end() ? nullptr : &entries[found->second].second;
  }
};

const Value* Mapping::Find(absl::string_view key) const {
  if (index_ != nullptr) return index_->Find(key, entries_);
  for (const auto& [name, value] : entries_) {
    if (name.is_text() && name.text().bytes() == key) return &value;
  }
  return nullptr;
}

const Value* Mapping::Find(const Value& key) const {
  if (key.is_text()) return Find(key.text().bytes());
  if (index_ != nullptr) return index_->Find(key, entries_);
  for (const auto& [name, value] : entries_) {
    if (Equal(name, key)) return &value;
  }
  return nullptr;
}

void Mapping::Set(const Value& key, Value value) {
  depth_ = std::max({depth_, 1 + key.depth(), 1 + value.depth()});
  weight_ = std::min(kMaxWeight, weight_ + key.weight() + value.weight());
  if (const Value* const found = Find(key); found != nullptr) {
    *const_cast<Value*>(found) = std::move(value);
    return;
  }
  constexpr size_t kFew = 16;
  if (index_ != nullptr && index_.use_count() > 1) index_ = std::make_shared<Index>(*index_);  // A copy of this dict shares the index.
  entries_.emplace_back(key, std::move(value));
  if (entries_.size() == kFew) {
    index_ = std::make_shared<Index>();
    for (size_t i = 0; i < entries_.size(); ++i) index_->places[entries_[i].first] = i;
  } else if (index_ != nullptr) {
    index_->places[key] = entries_.size() - 1;
  }
}

}  // namespace tessera::jinja
