# tessera_layer(NAME ...): declares a layer, built from every .cc and .proto below its folder, except those of other layers in subfolders:
#   FOLDER         where it lies, such as model/text; NAME if not given
#   LINKS          other layers, and third-party targets that its public headers need
#   PRIVATE_LINKS  third-party targets that only its .cc files need
#   HEADERS_OF     the same, but header-only, so nothing is left to link
#   TEST_LINKS     third-party targets that only its tests need
# tessera_build(NAMES): creates these layers (all if none is named), what they link, and their tests:
#   tessera::NAME  the library, for others in this build (for apps, bench and lab: bin/tessera_X per X.cc that lies directly
#                  in the layer's folder, which link the libraries of the rooms)
#   check-NAME     builds and runs the tests of NAME: one program from tests/FOLDER/*_test.cc, in ctest under the label NAME
include(tessera-find)
include(TesseraKernels)
include(TesseraPrecompiled)
include(TesseraEmbedded)
include(TesseraInstall)

macro(tessera_layer name)
  cmake_parse_arguments(tessera_${name} "" "FOLDER" "LINKS;PRIVATE_LINKS;HEADERS_OF;TEST_LINKS" ${ARGN})
  if(NOT tessera_${name}_FOLDER)
    set(tessera_${name}_FOLDER ${name})
  endif()
  list(APPEND tessera_layers ${name})
endmacro()

# Sets `nested` to the folders of layers that lie in this layer's folder, relative to it.
function(tessera_nested_layers layer)
  set(nested "")
  foreach(other ${tessera_layers})
    if(tessera_${other}_FOLDER MATCHES "^${tessera_${layer}_FOLDER}/(.+)$")
      list(APPEND nested ${CMAKE_MATCH_1})
    endif()
  endforeach()
  return(PROPAGATE nested)
endfunction()

# Sets `found` to the layer's own files below ROOT (the source's, or that of the tests) that match PATTERN, such as *.cc.
function(tessera_files_of layer root pattern)
  set(folder ${root}/${tessera_${layer}_FOLDER})
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/${pattern})
  tessera_nested_layers(${layer})
  foreach(other ${nested})
    list(FILTER found EXCLUDE REGEX "^${folder}/${other}/")
  endforeach()
  return(PROPAGATE found)
endfunction()

function(tessera_build)
  set(names ${ARGN})
  if(NOT names)
    set(names ${tessera_layers})
  endif()
  foreach(name ${names})
    if(NOT name IN_LIST tessera_layers)
      message(FATAL_ERROR "TESSERA_LAYERS: found ${name}, expected some of: ${tessera_layers}")
    endif()
    tessera_create(${name})
  endforeach()
  if(TESSERA_TESTS AND TARGET tessera::apps)  # Tests of flags, and of what programs share, run all programs.
    tessera_create(lab)
  endif()
endfunction()

function(tessera_need target)
  tessera_find(${target} missing)
  if(missing)
    message(FATAL_ERROR "${missing}; scripts/install_packages.sh installs what Tessera needs, and with --tests what its tests need")
  endif()
endfunction()

# Creates what a layer links, then the layer.
function(tessera_create layer)
  if(TARGET tessera::${layer})
    return()
  endif()
  foreach(target ${tessera_${layer}_LINKS} ${tessera_${layer}_PRIVATE_LINKS} ${tessera_${layer}_HEADERS_OF})
    if(target MATCHES "^tessera::(.+)$")
      tessera_create(${CMAKE_MATCH_1})
    else()
      tessera_need(${target})
    endif()
  endforeach()
  if(layer MATCHES "^(apps|bench|lab)$")
    tessera_create_apps(${layer})
  else()
    tessera_create_library(${layer})
  endif()
  if(TESSERA_TESTS)
    tessera_create_tests(${layer})
  endif()
endfunction()

# Keeps paths of this machine, which __FILE__ would bring in, out of installed files.
set(TESSERA_PLAIN_FILE_NAMES -fmacro-prefix-map=${PROJECT_BINARY_DIR}/include/=
  -fmacro-prefix-map=${PROJECT_BINARY_DIR}/generated/= -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=tessera/)

# Sets `generated` to the sources that protoc has made from a layer's .proto files. Their headers are for the layer alone: none is
# installed.
function(tessera_generate_protos layer)
  set(generated "")
  tessera_files_of(${layer} ${PROJECT_SOURCE_DIR} *.proto)
  set(protos ${found})
  if(protos)
    find_program(TESSERA_PROTOC protoc REQUIRED)  # That of this machine, also when building for another one.
  endif()
  foreach(proto ${protos})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${proto})
    string(REGEX REPLACE "proto$" "pb" made ${PROJECT_BINARY_DIR}/generated/tessera/${name})
    # While CMake configures: what a rule of the build makes would have all layers below built first, for each object above.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${proto})
    if(NOT EXISTS ${made}.cc OR ${proto} IS_NEWER_THAN ${made}.cc)
      file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
      execute_process(COMMAND ${TESSERA_PROTOC} --proto_path=${PROJECT_BINARY_DIR}/include
        --cpp_out=${PROJECT_BINARY_DIR}/generated tessera/${name} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    set_property(SOURCE ${made}.cc APPEND PROPERTY COMPILE_OPTIONS -fvisibility=hidden)
    list(APPEND generated ${made}.cc)
  endforeach()
  return(PROPAGATE generated)
endfunction()

# Compiles every source once, position independent, and makes both libraries from it. Programs and tests of this build use the static one.
# The shared one exports nothing from internal/ and kernels/. No path of this machine gets in through __FILE__.
function(tessera_create_library layer)
  tessera_files_of(${layer} ${PROJECT_SOURCE_DIR} *.cc)
  set(sources ${found})
  tessera_together(sources)
  tessera_kernel_templates(sources ${tessera_${layer}_FOLDER})
  tessera_kernels(sources)
  tessera_profiles(${tessera_${layer}_FOLDER})
  set(hidden ${sources})
  list(FILTER hidden INCLUDE REGEX "/(internal|kernels)/")
  set_property(SOURCE ${hidden} APPEND PROPERTY COMPILE_OPTIONS -fvisibility=hidden)
  tessera_generate_protos(${layer})
  add_library(tessera_${layer}_objects OBJECT ${sources} ${generated})
  set_target_properties(tessera_${layer}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(tessera_${layer}_objects PRIVATE -fno-semantic-interposition ${TESSERA_PLAIN_FILE_NAMES})
  target_link_libraries(tessera_${layer}_objects PRIVATE
    ${tessera_${layer}_LINKS} ${tessera_${layer}_PRIVATE_LINKS} ${tessera_${layer}_HEADERS_OF})
  tessera_count_branches(${layer})
  tessera_precompile(tessera_${layer}_objects ${group})

  add_library(tessera_${layer}_static STATIC $<TARGET_OBJECTS:tessera_${layer}_objects>)
  add_library(tessera_${layer}_shared SHARED $<TARGET_OBJECTS:tessera_${layer}_objects>)
  foreach(kind static shared)
    string(REGEX REPLACE "tessera::([a-z]+)" "tessera_\\1_${kind}" links "${tessera_${layer}_LINKS}")
    target_link_libraries(tessera_${layer}_${kind} PUBLIC ${links} PRIVATE ${tessera_${layer}_PRIVATE_LINKS})
    target_compile_features(tessera_${layer}_${kind} PUBLIC cxx_std_20)
    target_include_directories(tessera_${layer}_${kind} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
    set_target_properties(tessera_${layer}_${kind} PROPERTIES OUTPUT_NAME tessera_${layer} EXPORT_NAME ${layer})
  endforeach()
  # Before 1.0 each minor version may change the interface. A library links everything that it uses, except what sanitizers add: that comes
  # with the program.
  set_target_properties(tessera_${layer}_shared PROPERTIES INSTALL_RPATH "$ORIGIN" VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_link_options(tessera_${layer}_shared PRIVATE $<$<CONFIG:Release>:LINKER:-z,defs>)
  add_library(tessera::${layer} ALIAS tessera_${layer}_static)
  tessera_install_library(${layer})
endfunction()

# The programs are three layers: apps are those that people install, bench measures, lab is the laboratory. The rooms of each are
# libraries: all programs share cli, show describes files, phone runs on modeled phones, plan says before a run what the run will take,
# answers writes and judges texts, compare holds two runs against each other; bench is one room; of the laboratory, models makes models,
# lever compares drafts of streamed models, scale runs sets of problems, papers holds papers' figures against ours. Each room may use those
# before it.
set(tessera_rooms_of_apps cli show phone plan answers compare quantize)
set(tessera_rooms_of_bench bench)
set(tessera_rooms_of_lab lab/models lab/lever lab/scale lab/papers)

# Sets `room` to the last of the rooms that a program includes: the program links this room, and with it those before. So a program
# builds no room after the last room that the program uses.
function(tessera_last_room main)
  file(STRINGS ${main} includes REGEX "^#include \"tessera/apps/")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${main})
  set(room cli)
  foreach(candidate ${tessera_rooms_of_apps} ${tessera_rooms_of_bench} ${tessera_rooms_of_lab})
    if(includes MATCHES "\"tessera/apps/${candidate}/")
      string(REPLACE "/" "_" room ${candidate})
    endif()
  endforeach()
  return(PROPAGATE room)
endfunction()

function(tessera_create_apps layer)
  set(links ${tessera_${layer}_LINKS})
  file(GLOB mains CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${tessera_${layer}_FOLDER}/*.cc)
  if(layer STREQUAL "bench")
    tessera_embedded(tests/data/speculation/*.jsonl apps/bench/spec/evaluation_sets.inc)
  elseif(layer STREQUAL "lab")
    tessera_embedded(apps/lab/papers/npu/calibration.jsonl apps/lab/papers/npu/calibration.inc)
    tessera_embedded(apps/lab/papers/record/recordings/*.jsonl apps/lab/papers/record/recordings.inc)
    tessera_embedded(apps/lab/papers/record/drafts/*.jsonl apps/lab/papers/record/drafts.inc)
  endif()
  foreach(folder ${tessera_rooms_of_${layer}})
    string(REPLACE "/" "_" room ${folder})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/${folder}/*.cc)
    list(REMOVE_ITEM sources ${mains})
    list(FILTER sources EXCLUDE REGEX "/old_names/")
    tessera_together(sources)
    add_library(tessera_apps_${room} STATIC ${sources})
    target_link_libraries(tessera_apps_${room} PUBLIC ${links})
    target_compile_options(tessera_apps_${room} PRIVATE ${TESSERA_PLAIN_FILE_NAMES})  # Not in tests: a test's file is found by its path.
    tessera_precompile(tessera_apps_${room} apps)
    set(links tessera_apps_${room})
  endforeach()
  add_library(tessera::${layer} ALIAS ${links})
  if(layer STREQUAL "apps")
    tessera_version(tessera_apps_cli)
  endif()
  add_custom_target(tessera_${layer}_all)
  foreach(main ${mains})
    get_filename_component(job ${main} NAME_WE)
    add_executable(tessera_${job} ${main})
    target_compile_options(tessera_${job} PRIVATE ${TESSERA_PLAIN_FILE_NAMES})
    tessera_precompile(tessera_${job} apps)
    tessera_last_room(${main})
    target_link_libraries(tessera_${job} PRIVATE tessera_apps_${room})
    add_dependencies(tessera_${layer}_all tessera_${job})
    list(APPEND programs tessera_${job})
  endforeach()
  # Programs of old names, which only start the new ones (apps/old_names/forward.h).
  file(GLOB mains CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${tessera_${layer}_FOLDER}/old_names/*.cc)
  foreach(main ${mains})
    get_filename_component(job ${main} NAME_WE)
    add_executable(tessera_${job} ${main})
    add_dependencies(tessera_${layer}_all tessera_${job})
    list(APPEND programs tessera_${job})
  endforeach()
  tessera_install_programs(${layer} ${programs})
endfunction()

# What all test programs share: flags (tessera_test_flags), main(), and a precompiled header (cmake/TesseraPrecompiled.cmake). Tests are
# optimized in a way that compiles fast. Fakes look at few of their arguments and name few of their fields, and a test says
# `if (x) EXPECT_EQ(y, z);`.
function(tessera_create_test_main)
  tessera_need(GTest::gtest)
  add_library(tessera_test_flags INTERFACE)
  target_compile_options(tessera_test_flags INTERFACE $<$<CONFIG:Release>:-Og> -Wno-unused-parameter -Wno-missing-field-initializers
    -Wno-dangling-else)
  target_compile_definitions(tessera_test_flags INTERFACE
    TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TESSERA_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_library(tessera_test_main OBJECT tests/test_main.cc)
  target_link_libraries(tessera_test_main PUBLIC tessera::base GTest::gtest tessera_test_flags)
  tessera_precompile(tessera_test_main tests <gtest/gtest.h>)
endfunction()

# The test programs that run as several tests of ctest, each with a share of the program's tests, and how many: so all CPUs have work to the
# end, where one program takes minutes.
set(tessera_shards_runtime 4)
set(tessera_shards_apps 8)
set(tessera_shards_lab 4)

function(tessera_add_test layer)
  if(NOT tessera_shards_${layer})
    add_test(NAME ${layer} COMMAND tessera_${layer}_tests)
    set_tests_properties(${layer} PROPERTIES LABELS ${layer})
    return()
  endif()
  foreach(shard RANGE 1 ${tessera_shards_${layer}})
    add_test(NAME ${layer}_${shard} COMMAND ${PROJECT_SOURCE_DIR}/scripts/tests/shard.sh ${shard} ${tessera_shards_${layer}}
                                            ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tessera_${layer}_tests>)
    set_tests_properties(${layer}_${shard} PROPERTIES LABELS ${layer})
  endforeach()
endfunction()

function(tessera_create_tests layer)
  tessera_files_of(${layer} ${PROJECT_SOURCE_DIR}/tests *_test.cc)
  set(sources ${found})
  if(DEFINED TESSERA_TEST_FILES_${layer})
    list(FILTER sources INCLUDE REGEX "/(${TESSERA_TEST_FILES_${layer}})_test\\.cc$")
  endif()
  if(NOT sources)
    return()
  endif()
  tessera_together(sources)
  if(NOT TARGET tessera_test_main)
    tessera_create_test_main()
  endif()
  file(GLOB fakes CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fakes/${layer}/*.cc)
  tessera_kernels(fakes)
  add_executable(tessera_${layer}_tests ${sources} ${fakes})
  foreach(target ${tessera_${layer}_TEST_LINKS})
    tessera_need(${target})
  endforeach()
  target_link_libraries(tessera_${layer}_tests PRIVATE tessera::${layer} tessera_test_main ${tessera_${layer}_TEST_LINKS})
  if(TARGET tessera_${layer}_objects)  # Tests may include its generated headers.
    add_dependencies(tessera_${layer}_tests tessera_${layer}_objects)
  endif()
  tessera_precompile(tessera_${layer}_tests tests)
  tessera_add_test(${layer})
  add_custom_target(check-${layer} COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure -L "^${layer}$" USES_TERMINAL VERBATIM
                    DEPENDS tessera_${layer}_tests)
  if(layer STREQUAL "model")  # scripts/measure/compare_peer_logits.sh gives these files to another engine.
    add_executable(tessera_forward_models tests/model/forward_models.cc)
    target_link_libraries(tessera_forward_models PRIVATE tessera::model tessera_test_flags)
  endif()
  if(layer STREQUAL "text")  # tests/jinja_test.py compares its texts with those of the package jinja2.
    add_executable(tessera_render_cases tests/model/text/jinja/render_cases.cc)
    target_link_libraries(tessera_render_cases PRIVATE tessera::text tessera_test_flags)
  endif()
  if(layer MATCHES "^(apps|bench|lab)$")  # These tests run the binaries.
    add_dependencies(tessera_${layer}_tests tessera_apps_all tessera_bench_all tessera_lab_all tessera_apps_wrong)
  endif()
  if(layer STREQUAL "apps")  # One is wrong on purpose, of others calls fail.
    add_executable(tessera_verify_wrong_bit apps/bench/verify.cc tests/fakes/wrong_bit.cc)
    target_link_libraries(tessera_verify_wrong_bit PRIVATE tessera::bench)
    target_link_options(tessera_verify_wrong_bit PRIVATE LINKER:--wrap=_ZN7tessera16MatMulKernelsForENS_10KernelPathE)
    add_library(tessera_failing_calls MODULE tests/fakes/failing_calls.cc)
    set_target_properties(tessera_failing_calls PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    target_link_libraries(tessera_failing_calls PRIVATE ${CMAKE_DL_LIBS})
    add_custom_target(tessera_apps_wrong DEPENDS tessera_verify_wrong_bit tessera_failing_calls)
  endif()
endfunction()
