# tessera_fuzz_targets(NAMES ...): from each tests/fuzz/X_fuzz.cc the program tessera_replay_X, which is a test, and in the build type
# AddressSanitizer, by clang, tessera_fuzz_X (libFuzzer).
#
# tessera_coverage_gguf and tessera_coverage_split are replays over the reader's own files with a counter in every line.
#
# A fuzzer is guided by the code that an input reached. That is counted in layers that branch on an input's bytes, not in kernels.

function(tessera_fuzz_targets)
  set(folder ${PROJECT_SOURCE_DIR}/tests/fuzz)
  set(layers tessera::model)
  if(TARGET tessera::spec)
    list(APPEND layers tessera::spec)
  endif()
  foreach(name ${ARGN})
    add_executable(tessera_replay_${name} ${folder}/${name}_fuzz.cc ${folder}/replay_main.cc)
    target_link_libraries(tessera_replay_${name} PRIVATE ${layers} GTest::gtest)
    add_dependencies(tessera_replay_${name} tessera_storage_objects)  # The replay may include its generated headers.
    add_test(NAME replay_${name} COMMAND tessera_replay_${name} ${folder}/corpus/${name})
    set_tests_properties(replay_${name} PROPERTIES LABELS fuzz)
  endforeach()
  if(NOT CMAKE_BUILD_TYPE STREQUAL AddressSanitizer)
    return()
  endif()
  foreach(fuzzed base storage text files model spec)
    if(TARGET tessera_${fuzzed}_objects)
      target_compile_options(tessera_${fuzzed}_objects PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endforeach()
  foreach(name ${ARGN})
    add_executable(tessera_fuzz_${name} ${folder}/${name}_fuzz.cc ${folder}/libfuzzer_main.cc)
    target_link_libraries(tessera_fuzz_${name} PRIVATE ${layers} GTest::gtest)
    add_dependencies(tessera_fuzz_${name} tessera_storage_objects)
    target_link_options(tessera_fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
  foreach(name gguf loader split)
    target_sources(tessera_fuzz_${name} PRIVATE ${folder}/gguf_mutator.cc)
  endforeach()

  file(GLOB reader CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/model/files/gguf*.cc ${PROJECT_SOURCE_DIR}/model/files/internal/gguf_*.cc)
  add_library(tessera_counted_reader OBJECT ${reader})
  target_compile_options(tessera_counted_reader PRIVATE -fprofile-instr-generate -fcoverage-mapping)
  target_link_libraries(tessera_counted_reader PRIVATE tessera::model)
  foreach(name gguf split)
    add_executable(tessera_coverage_${name} ${folder}/${name}_fuzz.cc ${folder}/replay_main.cc)
    target_link_options(tessera_coverage_${name} PRIVATE -fprofile-instr-generate)
    target_link_libraries(tessera_coverage_${name} PRIVATE tessera_counted_reader tessera::model GTest::gtest)
  endforeach()
endfunction()
