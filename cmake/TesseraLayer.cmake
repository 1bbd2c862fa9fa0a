# tessera_layer(NAME LINKS ... PRIVATE_LINKS ...): the library tessera::NAME from every .cc below NAME/.
# tessera_apps(LINKS ...):                          one binary bin/tessera_X per apps/X.cc; apps/common/*.cc goes into each.
# tessera_tests(LAYERS ...):                        one test binary per layer from tests/LAYER/*_test.cc, with the label LAYER.
#
# Files under a folder `avx2` or named `*_avx2.cc` (and `*_avx512.cc`) are compiled for that instruction set, and nothing else is:
# base/cpu_features decides at run time whether they are called.

set(TESSERA_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(TESSERA_AVX512_FLAGS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx2 -mfma -mf16c -mprefer-vector-width=512
    -Wno-uninitialized -Wno-maybe-uninitialized)  # g++ 12 warns inside its own AVX-512 header.

# No errno: sqrt is then one instruction, not a call.
function(tessera_kernel_flags)
  foreach(source ${ARGN})
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno;${TESSERA_AVX2_FLAGS}")
    elseif(source MATCHES "_avx512\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno;${TESSERA_AVX512_FLAGS}")
    elseif(source MATCHES "_portable\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno")
    endif()
  endforeach()
endfunction()

function(tessera_layer name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cc)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_avx(2|512)\\.cc$")
  endif()
  add_library(tessera_${name} ${sources})
  add_library(tessera::${name} ALIAS tessera_${name})
  target_link_libraries(tessera_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  tessera_kernel_flags(${sources})
endfunction()

function(tessera_apps)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB common CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/common/*.cc)
  file(GLOB mains CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/*.cc)
  add_custom_target(tessera_apps_all)
  if(NOT mains)
    return()
  endif()
  add_library(tessera_apps_common STATIC ${common})
  target_link_libraries(tessera_apps_common PUBLIC ${ARG_LINKS})
  foreach(main ${mains})
    get_filename_component(job ${main} NAME_WE)
    add_executable(tessera_${job} ${main})
    target_link_libraries(tessera_${job} PRIVATE tessera_apps_common)
    add_dependencies(tessera_apps_all tessera_${job})
  endforeach()
endfunction()

function(tessera_tests)
  foreach(layer ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${layer}/*_test.cc)
    if(NOT sources)
      continue()
    endif()
    file(GLOB fakes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fakes/${layer}/*.cc)
    tessera_kernel_flags(${fakes})
    add_executable(tessera_${layer}_tests ${sources} ${fakes} ${CMAKE_SOURCE_DIR}/tests/test_main.cc)
    if(layer STREQUAL "apps")
      add_dependencies(tessera_apps_tests tessera_apps_all)  # They run the binaries.
      target_link_libraries(tessera_${layer}_tests PRIVATE tessera_apps_common GTest::gtest)
    else()
      target_link_libraries(tessera_${layer}_tests PRIVATE tessera::${layer} GTest::gtest)
    endif()
    target_compile_definitions(tessera_${layer}_tests PRIVATE
      TESSERA_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TESSERA_BINARY_DIR="${CMAKE_BINARY_DIR}")
    add_test(NAME ${layer} COMMAND tessera_${layer}_tests)
    set_tests_properties(${layer} PROPERTIES LABELS ${layer})
  endforeach()
endfunction()
