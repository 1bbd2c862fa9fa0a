// Values that are made at the first request, once: the results of map, select, items and so on.
//
//   return runtime.Own(std::make_shared<Generator>([=](Runtime& runtime) { return Mapped(runtime, input, arguments); }));
//
// Thread-compatible.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

class Generator : public Object {
 public:
  using Make = std::function<absl::StatusOr<std::vector<Value>>(Runtime& runtime)>;

  explicit Generator(Make make) : make_(std::move(make)) {}
  absl::string_view type() const override { return "generator"; }
  std::vector<Value>* elements() override { return &elements_; }
  absl::Status Fill(Runtime& runtime) override {
    if (make_ == nullptr) return absl::OkStatus();
    const Runtime::Level level(runtime);  // The input may be a generator, too, and so on.
    RETURN_IF_ERROR(level.Check());
    const Make make = std::exchange(make_, nullptr);
    ASSIGN_OR_RETURN(elements_, make(runtime));
    return absl::OkStatus();
  }
  void Clear() override {
    make_ = nullptr;
    elements_.clear();
  }

 private:
  Make make_;
  std::vector<Value> elements_;
};

}  // namespace tessera::jinja
