// The tokenizers of the real models (real_models.h).
//
//   const Tokenizer* tokenizer = RealTokenizer("gemma3");
//   ASSERT_NE(tokenizer, nullptr);
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tessera/model/files/read_tokenizer.h"
#include "tessera/tests/fakes/real_models.h"

namespace tessera {

// Returns the tokenizer of a real model, opened once; null (and a failed test) without the model.
inline const Tokenizer* RealTokenizer(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Tokenizer>> opened;
  if (opened.count(name) == 0) {
    const std::string path = RealModelPath(name);
    if (path.empty()) {
      ADD_FAILURE() << RealModelMissing(name);
      return nullptr;
    }
    auto file = GgufFile::Open(path);
    auto tokenizer = file.ok() ? ReadTokenizer(**file) : file.status();
    if (!tokenizer.ok()) {
      ADD_FAILURE() << tokenizer.status().ToString();
      return nullptr;
    }
    opened[name] = *std::move(tokenizer);
  }
  return opened[name].get();
}

}  // namespace tessera
