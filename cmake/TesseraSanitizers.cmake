# Build types that find faults while the tests run. Each stops at the first fault, with a stack trace, and turns on the assertions of the
# code and of the standard library. Everything except kernels is -O1, which clang compiles fastest.
#
#   cmake -S . -B build-asan -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=AddressSanitizer
#
# AddressSanitizer: memory errors, leaks and undefined behaviour. ThreadSanitizer: data races.

# TESSERA_SANITIZED_KERNELS: off, kernels are compiled without a sanitizer's checks, which take a third of the time of a build that runs no
# test of kernels (scripts/test.sh --all).
option(TESSERA_SANITIZED_KERNELS "Compile kernels with a sanitizer's checks" ON)

set(TESSERA_KERNEL_OPTIMIZATION -O3)
if(CMAKE_BUILD_TYPE MATCHES Sanitizer)
  set(TESSERA_KERNEL_OPTIMIZATION -O2)  # At -O3 a kernel takes minutes to compile.
  if(NOT TESSERA_SANITIZED_KERNELS)
    list(APPEND TESSERA_KERNEL_OPTIMIZATION -fno-sanitize=all)
  endif()
endif()

# The warnings left out are about g++'s headers and flags.
string(CONCAT TESSERA_FAULT_FLAGS "-Wno-unknown-warning-option -Wno-deprecated-declarations -O1 -gline-tables-only "
  "-fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS -DTESSERA_SANITIZED")
set(CMAKE_CXX_FLAGS_ADDRESSSANITIZER
    "${TESSERA_FAULT_FLAGS} -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all")
set(CMAKE_CXX_FLAGS_THREADSANITIZER "${TESSERA_FAULT_FLAGS} -fsanitize=thread")

# The test files of these layers in which threads meet, as a regular expression of their names: the pool of threads and files that several
# threads use, weights read beside other work, drafts, workers that share out many rows, a history that streams share. The thread sanitizer
# would find nothing in the others, and they take minutes to compile.
if(CMAKE_BUILD_TYPE STREQUAL ThreadSanitizer)
  set(TESSERA_TEST_FILES_base "available_cpus|file_version|folder_lock|shared_work|start_thread|text_file|thread_pool|timeline|write_all")
  string(CONCAT TESSERA_TEST_FILES_storage "block_reader|block_reader_faults|cancelled_reads|changing_file|clocked_source|first_pass|"
    "layer_streamer|loading_source|moved_file|reading_ahead|resident_source|settling_bytes|streamer_manners|unit_ring|unpin|weight_source")
  set(TESSERA_TEST_FILES_spec "history_[a-z]+")
  set(TESSERA_TEST_FILES_npu "host_adapters|host_device")
  string(CONCAT TESSERA_TEST_FILES_runtime "engine|first_prompt|graph_motion|packed_model|prompt|session_threads|shrink_memory|"
    "speculation_[a-z]+|speculation|stepper|stepper_threads|streaming|streaming_faults|text_queue|tree_logits")
endif()
