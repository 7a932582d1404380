# The project's own CMake verbs: one per kind of thing that is built.

# substrata_room(<name> SOURCES ... [LIBRARIES ...] [ROOMS ...]): a shared room under components/ (feed, workloads, ...):
# compiled into libsubstrata, included by those who declare it as "<name>/header.hpp".
function(substrata_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;ROOMS" ${ARGN})
  substrata_objects_(${name} ${name} "${ARG_SOURCES}" "${ARG_LIBRARIES}" "${ARG_ROOMS}")
endfunction()

# substrata_component(<name> [ORDER n] SOURCES ... [LIBRARIES ...] [ROOMS ...]): a built-in substrate whose entry point
# is substrata_entry_<name>. ORDER places it in the built-in list (0 first, default 50), equal orders by name.
function(substrata_component name)
  cmake_parse_arguments(ARG "" "ORDER" "SOURCES;LIBRARIES;ROOMS" ${ARGN})
  if(NOT DEFINED ARG_ORDER)
    set(ARG_ORDER 50)
  endif()
  substrata_objects_(${name} component_${name} "${ARG_SOURCES}" "${ARG_LIBRARIES}" "${ARG_ROOMS}")
  string(LENGTH "${ARG_ORDER}" width)
  if(width EQUAL 1)
    set(ARG_ORDER "0${ARG_ORDER}")
  endif()
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_BUILT_IN "${ARG_ORDER}:${name}")
endfunction()

# What rooms and components share: an object library that sees include/, its own folder and the rooms it declares,
# and nothing else.
function(substrata_objects_ folder target sources libraries rooms)
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR})
  substrata_use_rooms(${target} ${folder} ${rooms})
  target_link_libraries(${target} PRIVATE ${libraries} Threads::Threads)
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_OBJECTS ${target})
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_LIBRARIES ${libraries})
endfunction()

# Lets a target include "<room>/..." of each named folder of components/ (a link in the build tree, one folder a room,
# so that a forbidden include does not compile).
function(substrata_use_rooms target)
  foreach(room IN LISTS ARGN)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/rooms/${room})
    if(NOT EXISTS ${CMAKE_BINARY_DIR}/rooms/${room}/${room})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/components/${room} ${CMAKE_BINARY_DIR}/rooms/${room}/${room} SYMBOLIC)
    endif()
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/rooms/${room})
  endforeach()
endfunction()

# substrata_test(<name> SOURCES ... [LIBRARIES ...] [ROOMS ...] [LABELS ...] [TIMEOUT s] [INTERNAL] [PAPI 7.0|7.3] [SERIAL]):
# a GoogleTest program; every TEST in it is a ctest test. INTERNAL: may include the library's own headers ("core/...")
# and links the static library, else it is an ordinary client. PAPI links that generation's libpapi (implies client).
function(substrata_test name)
  cmake_parse_arguments(ARG "INTERNAL;SERIAL" "TIMEOUT;PAPI" "SOURCES;LIBRARIES;ROOMS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}
                                             ${PROJECT_SOURCE_DIR}/tests)
  if(ARG_INTERNAL)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
    target_link_libraries(${name} PRIVATE substrata_static)
  elseif(ARG_PAPI)
    target_link_libraries(${name} PRIVATE papi-${ARG_PAPI})
  endif()
  substrata_use_rooms(${name} ${ARG_ROOMS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main Threads::Threads)
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  if(ARG_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                       PROPERTIES ${properties})
endfunction()

# substrata_benchmark(<name> SOURCES ... [LIBRARIES ...] [ROOMS ...] [INTERNAL] [PAPI v]): build/bin/bench_<name>; never a test.
function(substrata_benchmark name)
  if(NOT SUBSTRATA_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "INTERNAL" "PAPI" "SOURCES;LIBRARIES;ROOMS" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
  if(ARG_INTERNAL)
    target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
    target_link_libraries(bench_${name} PRIVATE substrata_static)
  elseif(ARG_PAPI)
    target_link_libraries(bench_${name} PRIVATE papi-${ARG_PAPI})
  endif()
  substrata_use_rooms(bench_${name} ${ARG_ROOMS})
  target_link_libraries(bench_${name} PRIVATE ${ARG_LIBRARIES} benchmark::benchmark Threads::Threads)
endfunction()

# substrata_fuzzer(<name> SOURCES ... [LIBRARIES ...] [ROOMS ...] [SEEDS folder]): a libFuzzer target (clang, SUBSTRATA_FUZZ),
# with a short run of it as the ctest test fuzz.<name>.
function(substrata_fuzzer name)
  if(NOT SUBSTRATA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SEEDS" "SOURCES;LIBRARIES;ROOMS" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                                  ${CMAKE_BINARY_DIR}/generated)
  substrata_use_rooms(fuzz_${name} ${ARG_ROOMS})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_LIBRARIES} substrata_static Threads::Threads)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/corpus_${name})
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} -max_total_time=10 -timeout=20 -verbosity=0 -print_final_stats=1
           ${CMAKE_BINARY_DIR}/fuzz/corpus_${name} ${ARG_SEEDS})
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
endfunction()

# Adds every sub-folder of the current one that has a CMakeLists.txt: a new component, test or example is one folder.
macro(substrata_add_folders)
  file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  list(SORT folders)
  foreach(folder IN LISTS folders)
    cmake_path(GET folder PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
endmacro()
