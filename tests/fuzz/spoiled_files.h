// Makes seeds of one good GGUF file: the file, and one seed for each way to spoil a field.
//
//   AppendSpoiled("llama", TinyModelBuilder({.width = 32}), &seeds);
//
// Each number of the header, the metadata and the tensor table is set to values at and beyond its borders. The file is also cut at the
// beginning of each field. A fuzzer has to guess which bytes are a count; these seeds know the counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {

inline void AppendSpoiled(const std::string& name, GgufBuilder builder, std::vector<FuzzSeed>* seeds) {
  const std::string good = builder.Build();
  seeds->push_back({name, good});
  size_t number = 0;
  const auto add = [&](const std::string& bytes) { seeds->push_back({name + "_" + std::to_string(++number), bytes}); };
  for (const auto& [field, offset] : builder.fields()) {
    add(good.substr(0, offset));
    if (offset + sizeof(uint64_t) > good.size()) continue;
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{9}, uint64_t{1} << 31, uint64_t{1} << 62, ~uint64_t{0}}) {
      const bool wide = field.ends_with("length") || field.ends_with("count") || field.find(" ne") != field.npos ||
                        field.ends_with("offset");
      std::string spoiled = good;
      spoiled.replace(offset, wide ? 8 : 4, reinterpret_cast<const char*>(&value), wide ? 8 : 4);
      if (spoiled != good) add(spoiled);
    }
  }
}

}  // namespace tessera
