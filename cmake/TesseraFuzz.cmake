# tessera_fuzz_targets(LAYER NAMES ...): if LAYER is built, from each tests/fuzz/X_fuzz.cc, which needs no more than LAYER, the program
# tessera_replay_X, which is a test, and in the build type AddressSanitizer, by clang, tessera_fuzz_X (libFuzzer).
# tessera_fuzz_coverage(): tessera_coverage_gguf and tessera_coverage_split, replays over the reader's own files with a counter in every
# line.
#
# A fuzzer is guided by the branches that an input reached. Branches are counted in layers that branch on an input's bytes, not in
# kernels: in npu only where a profile is read.
set(tessera_fuzz_folder ${PROJECT_SOURCE_DIR}/tests/fuzz)

function(tessera_fuzz_program program layer sources)
  add_executable(${program} ${sources})
  target_link_libraries(${program} PRIVATE tessera::${layer} GTest::gtest tessera_test_flags)
  add_dependencies(${program} tessera_${layer}_objects)  # The program may include its generated headers.
  tessera_precompile(${program} tests)
endfunction()

function(tessera_fuzz_targets layer)
  if(NOT TARGET tessera::${layer} OR NOT TESSERA_TESTS)
    return()
  endif()
  set(folder ${tessera_fuzz_folder})
  if(NOT TARGET tessera_replay_main)
    add_library(tessera_replay_main OBJECT ${folder}/replay_main.cc)
    target_link_libraries(tessera_replay_main PRIVATE tessera::base GTest::gtest tessera_test_flags)
    tessera_precompile(tessera_replay_main tests)
  endif()
  foreach(name ${ARGN})
    tessera_fuzz_program(tessera_replay_${name} ${layer} "${folder}/${name}_fuzz.cc;$<TARGET_OBJECTS:tessera_replay_main>")
    add_test(NAME replay_${name} COMMAND tessera_replay_${name} ${folder}/corpus/${name})
    set_tests_properties(replay_${name} PROPERTIES LABELS fuzz)
    if(CMAKE_BUILD_TYPE STREQUAL AddressSanitizer)
      tessera_fuzz_program(tessera_fuzz_${name} ${layer} "${folder}/${name}_fuzz.cc;${folder}/libfuzzer_main.cc")
      target_link_options(tessera_fuzz_${name} PRIVATE -fsanitize=fuzzer)
      if(name MATCHES "^(gguf|loader|split)$")
        target_sources(tessera_fuzz_${name} PRIVATE ${folder}/gguf_mutator.cc)
      endif()
    endif()
  endforeach()
endfunction()

# Sets `group` to the layers that share one precompiled header with LAYER: those whose branches are counted have a flag of their own.
function(tessera_count_branches layer)
  set(group layers)
  if(CMAKE_BUILD_TYPE STREQUAL AddressSanitizer AND TESSERA_TESTS AND layer MATCHES "^(base|storage|text|files|model|spec)$")
    target_compile_options(tessera_${layer}_objects PRIVATE -fsanitize=fuzzer-no-link)
    set(group counted_layers)
  endif()
  return(PROPAGATE group)
endfunction()

function(tessera_fuzz_coverage)
  if(NOT CMAKE_BUILD_TYPE STREQUAL AddressSanitizer OR NOT TESSERA_TESTS)
    return()
  endif()
  set(profile_reader ${PROJECT_SOURCE_DIR}/npu/device_profile.cc)
  set_property(SOURCE ${profile_reader} APPEND PROPERTY COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
  set_source_files_properties(${profile_reader} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # It has flags of its own.
  if(NOT TARGET tessera::files)
    return()
  endif()
  file(GLOB reader CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/model/files/gguf*.cc ${PROJECT_SOURCE_DIR}/model/files/internal/gguf_*.cc)
  add_library(tessera_counted_reader OBJECT ${reader})
  target_compile_options(tessera_counted_reader PRIVATE -fprofile-instr-generate -fcoverage-mapping)
  target_link_libraries(tessera_counted_reader PRIVATE tessera::files)
  foreach(name gguf split)
    add_executable(tessera_coverage_${name} ${tessera_fuzz_folder}/${name}_fuzz.cc ${tessera_fuzz_folder}/replay_main.cc)
    target_link_options(tessera_coverage_${name} PRIVATE -fprofile-instr-generate)
    target_link_libraries(tessera_coverage_${name} PRIVATE tessera_counted_reader tessera::files GTest::gtest)
  endforeach()
endfunction()
