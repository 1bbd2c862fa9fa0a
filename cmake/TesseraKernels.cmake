# The instruction sets of kernels. A file named *_NAME.cc is compiled with the flags of NAME if the target processor can have that
# instruction set, and left out if not. All other files are compiled for the processor's baseline. base/cpu_features decides at run time
# whether such code is called, so it must test for everything that the flags allow.
#
#   tessera_instruction_set(NAME PROCESSORS FLAGS...)   PROCESSORS: a regular expression that CMAKE_SYSTEM_PROCESSOR matches
#   tessera_kernels(LIST)                               leaves sources out of LIST and sets their flags, as said above
#   tessera_kernel_templates(LIST FOLDER)               adds a file to LIST for each instruction set and each FOLDER/kernels/*.cc.in:
#                                                       NAME.cc.in becomes NAME_avx2.cc with @lanes@ = lanes_avx2, @Lanes@ = LanesAvx2 and
#                                                       @Path@ = Avx2, so that the build compiles the copies of a kernel side by side
#
# TESSERA_EMULATE_AVX512 compiles avx512 for AVX2: each instruction is made of AVX2 instructions (tests/fakes/avx512), and cpu_features
# finds it on every CPU. For tests only: scripts/tests/test_avx512.sh.
#
# How to add one: docs/adding_an_instruction_set.md.

macro(tessera_instruction_set name processors)
  list(APPEND tessera_instruction_sets ${name})
  set(tessera_${name}_PROCESSORS "${processors}")
  set(tessera_${name}_FLAGS ${ARGN})
endmacro()

tessera_instruction_set(portable ".*" -DTESSERA_KERNELS_CALL)   # quant/kernels/unrolled.h
tessera_instruction_set(avx2 "x86_64|AMD64" -mavx2 -mfma -mf16c)
tessera_instruction_set(avx512 "x86_64|AMD64" -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx2 -mfma -mf16c
  -mprefer-vector-width=512 -Wno-uninitialized -Wno-maybe-uninitialized)  # g++ 12 warns inside its own AVX-512 header.
tessera_instruction_set(neon "aarch64|arm64" -march=armv8.2-a+dotprod)

option(TESSERA_EMULATE_AVX512 "Run the AVX-512 kernels' tests on any CPU with AVX2")
if(TESSERA_EMULATE_AVX512)
  set(emulation -isystem ${PROJECT_SOURCE_DIR}/tests/fakes/avx512)
  set(tessera_avx512_FLAGS ${tessera_avx2_FLAGS} ${emulation} -Wno-psabi -Wno-pass-failed)
  set_property(SOURCE base/cpu_features.cc APPEND PROPERTY COMPILE_OPTIONS ${emulation})
endif()

# Without errno, sqrt is one instruction and not a call.
function(tessera_kernels list)
  foreach(name ${tessera_instruction_sets})
    set(kernels ${${list}})
    list(FILTER kernels INCLUDE REGEX "_${name}\\.cc$")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(${tessera_${name}_PROCESSORS})$")
      set_property(SOURCE ${kernels} APPEND PROPERTY
        COMPILE_OPTIONS ${TESSERA_KERNEL_OPTIMIZATION} -fno-math-errno ${tessera_${name}_FLAGS})
      set_source_files_properties(${kernels} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # They have flags of their own.
    else()
      list(REMOVE_ITEM ${list} ${kernels})
    endif()
  endforeach()
  return(PROPAGATE ${list})
endfunction()

function(tessera_kernel_templates list folder)
  file(GLOB templates CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/kernels/*.cc.in)
  foreach(template ${templates})
    get_filename_component(kernel ${template} NAME_WE)
    foreach(name ${tessera_instruction_sets})
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(${tessera_${name}_PROCESSORS})$")
        string(SUBSTRING ${name} 0 1 first)
        string(SUBSTRING ${name} 1 -1 rest)
        string(TOUPPER ${first} first)
        set(lanes lanes_${name})
        set(Path ${first}${rest})
        set(Lanes Lanes${Path})
        set(made ${PROJECT_BINARY_DIR}/generated/tessera/${folder}/kernels/${kernel}_${name}.cc)
        configure_file(${template} ${made} @ONLY)
        list(APPEND ${list} ${made})
      endif()
    endforeach()
  endforeach()
  return(PROPAGATE ${list})
endfunction()
