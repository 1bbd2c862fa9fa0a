# tessera_fuzz_targets(LAYER NAMES ...): if LAYER is built, from each tests/fuzz/X_fuzz.cc, which needs no more than LAYER, the program
# tessera_replay_X, which is a test, and in the build type AddressSanitizer, by clang, tessera_fuzz_X (libFuzzer). LAYER may be a room of
# apps: apps_cli.
# tessera_fuzz_coverage(): tessera_coverage_gguf and tessera_coverage_split, replays over the reader's own files with a counter in every
# line.
#
# A fuzzer is guided by the branches that an input reached. Branches are counted in layers that branch on an input's bytes, not in
# kernels: in npu and runtime only in the sources that read (tessera_counted_alone), in apps only in the list below.
set(tessera_fuzz_folder ${PROJECT_SOURCE_DIR}/tests/fuzz)

# The sources of apps that read what comes from outside, and what those use of apps. With sanitizers and counters they are compiled once
# more, and the other nine tenths of apps not at all.
set(tessera_read_by_apps bench/spec/evaluation_sets lab/lever/lever_prompts bench/passes/named_curve bench/spec/spec_bench_prompts
  answers/requests/answer_file cli/text/byte_order_mark cli/command_line cli/flags/flags cli/help
  cli/other_names cli/flags/scorer_flags lab/papers/record/draft_recording lab/papers/onemodel/ds2d_runs lab/papers/record/recording
  lab/papers/record/recording_fields lab/papers/scaling/scaling_curves lab/scale/judging/candidates lab/scale/judging/estimates
  lab/scale/report/figures_json lab/scale/grid/grid_folder lab/scale/grid/grid_methods lab/scale/grid/grid_results
  lab/scale/grid/host_times lab/scale/judging/judge lab/scale/tasks/records lab/scale/tasks/sample_file lab/scale/tasks/sample_run
  lab/scale/judging/step_trees lab/scale/tasks/tasks show/states_file)
list(TRANSFORM tessera_read_by_apps PREPEND apps/)
# The sources of runtime that read answers, which need base alone: so no other layer is compiled for them.
set(tessera_read_by_answers message_lines clean_answer expression expression_parser extract_answer last_boxed rational same_answer)
list(TRANSFORM tessera_read_by_answers PREPEND runtime/scale/value/)
list(TRANSFORM tessera_read_by_answers REPLACE "scale/value/message_lines" "chat/message_lines")

function(tessera_add_readers library)
  set(sources ${${library}})
  list(TRANSFORM sources REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1.cc")
  add_library(${library} STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${library} PUBLIC ${ARGN})
  target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
endfunction()

# Sets `library` to what the targets of a layer link.
function(tessera_fuzz_library layer)
  if(NOT layer MATCHES "_")
    set(library tessera::${layer})
  elseif(layer STREQUAL "runtime_answers" AND NOT CMAKE_BUILD_TYPE STREQUAL AddressSanitizer)
    set(library tessera::runtime)
  elseif(layer STREQUAL "runtime_answers")
    tessera_add_readers(tessera_read_by_answers tessera::base)
    set(library tessera_read_by_answers)
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL AddressSanitizer)
    set(library tessera_${layer})
  else()
    if(NOT TARGET tessera_read_by_apps)
      tessera_add_readers(tessera_read_by_apps ${tessera_apps_LINKS})
    endif()
    set(library tessera_read_by_apps)
  endif()
  return(PROPAGATE library)
endfunction()

# Links what was compiled of the target, and its main.
function(tessera_fuzz_program program name main)
  add_executable(${program} $<TARGET_OBJECTS:tessera_target_${name}> ${main})
  target_link_libraries(${program} PRIVATE ${library} GTest::gtest tessera_test_flags)
  tessera_precompile(${program} tests)
endfunction()

function(tessera_fuzz_targets layer)
  string(REGEX REPLACE "_.*" "" built ${layer})
  if(NOT TARGET tessera::${built} OR NOT TESSERA_TESTS)
    return()
  endif()
  set(folder ${tessera_fuzz_folder})
  if(NOT TARGET tessera_replay_main)
    add_library(tessera_replay_main OBJECT ${folder}/replay_main.cc)
    target_link_libraries(tessera_replay_main PRIVATE tessera::base GTest::gtest tessera_test_flags)
    tessera_precompile(tessera_replay_main tests)
  endif()
  tessera_fuzz_library(${layer})
  foreach(name ${ARGN})
    add_library(tessera_target_${name} OBJECT ${folder}/${name}_fuzz.cc)
    target_link_libraries(tessera_target_${name} PRIVATE ${library} GTest::gtest tessera_test_flags)
    tessera_precompile(tessera_target_${name} tests)
    if(TARGET tessera_${layer}_objects)
      add_dependencies(tessera_target_${name} tessera_${layer}_objects)  # The target may include its generated headers.
    endif()
    tessera_fuzz_program(tessera_replay_${name} ${name} "$<TARGET_OBJECTS:tessera_replay_main>")
    add_test(NAME replay_${name} COMMAND tessera_replay_${name} ${folder}/corpus/${name})
    set_tests_properties(replay_${name} PROPERTIES LABELS fuzz)
    if(CMAKE_BUILD_TYPE STREQUAL AddressSanitizer)
      tessera_fuzz_program(tessera_fuzz_${name} ${name} ${folder}/libfuzzer_main.cc)
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
  set_property(SOURCE ${tessera_counted_alone} APPEND PROPERTY COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
  set_source_files_properties(${tessera_counted_alone} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # They have flags of their own.
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
