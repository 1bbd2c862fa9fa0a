# tessera_together(LIST): takes the sources out of LIST that may be compiled as one, and adds a file that includes them, in the build folder
# under their own folder's name. A whole build takes about half the CPU, since headers are read once for several sources; a change of one
# source compiles its group.
#
# TESSERA_TOGETHER: on where scripts/build.sh builds, but not with ccache, which keeps an object longer if its source is alone. Each source
# compiles alone, too, as the build by clang (scripts/test.sh --all) proves. cmake/together.py says which sources go together, anew whenever
# CMake configures: if a new name is one that another source of the group declares for itself, configure again.
option(TESSERA_TOGETHER "Compile several sources of a folder as one" OFF)

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
# Files with flags of their own, and the reader of GGUF files, whose objects a program may replace by others (cmake/TesseraFuzz.cmake).
set(tessera_counted_alone npu/device_profile.cc runtime/adapters/adapter_options.cc runtime/engine/switching/switch_profile.cc
  runtime/chat/message_lines.cc runtime/chat/request.cc runtime/chat/saved_text.cc runtime/scale/value/clean_answer.cc
  runtime/scale/value/expression.cc runtime/scale/value/expression_parser.cc runtime/scale/value/extract_answer.cc
  runtime/scale/value/last_boxed.cc runtime/scale/value/rational.cc runtime/scale/value/same_answer.cc)
list(TRANSFORM tessera_counted_alone PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB tessera_alone CONFIGURE_DEPENDS ${tessera_counted_alone} ${PROJECT_SOURCE_DIR}/model/files/gguf*.cc
  ${PROJECT_SOURCE_DIR}/model/files/internal/gguf_*.cc)
set(tessera_groups "")
if(TESSERA_TOGETHER)
  find_program(TESSERA_PYTHON python3 REQUIRED)
  execute_process(COMMAND ${TESSERA_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/together.py --root ${PROJECT_SOURCE_DIR}
    OUTPUT_FILE ${PROJECT_BINARY_DIR}/generated/together.txt COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${PROJECT_BINARY_DIR}/generated/together.txt tessera_groups)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/together.py)
endif()

function(tessera_together list)
  foreach(line IN LISTS tessera_groups)
    string(REPLACE "|" ";" names "${line}")
    set(files "")
    foreach(name ${names})
      set(file ${PROJECT_SOURCE_DIR}/${name})
      if(file IN_LIST ${list} AND NOT file IN_LIST tessera_alone)
        list(APPEND files ${file})
      endif()
    endforeach()
    list(LENGTH files count)
    if(count GREATER 1)
      tessera_compile_as_one(${files})
      list(REMOVE_ITEM ${list} ${files})
      list(APPEND ${list} ${made})
    endif()
  endforeach()
  return(PROPAGATE ${list})
endfunction()

# Sets `made` to a file that includes FILES. g++ would warn of each class with a member of an unnamed namespace, since the class stands in a
# file that is included.
function(tessera_compile_as_one)
  set(files ${ARGN})
  list(GET files 0 first)
  list(LENGTH files count)
  math(EXPR more "${count} - 1")
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${first})
  string(REGEX REPLACE "\\.cc$" "_and_${more}_more.cc" name ${name})
  set(made ${PROJECT_BINARY_DIR}/generated/together/${name})
  list(TRANSFORM files PREPEND "#include \"")
  list(TRANSFORM files APPEND "\"\n")
  string(JOIN "" content ${files})
  file(CONFIGURE OUTPUT ${made} CONTENT "${content}" @ONLY)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_property(SOURCE ${made} APPEND PROPERTY COMPILE_OPTIONS -Wno-subobject-linkage)
  endif()
  return(PROPAGATE made)
endfunction()
