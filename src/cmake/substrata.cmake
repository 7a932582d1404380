# The project's own CMake verbs: one per kind of thing that is built.

# Modules. Each is a directory with a name. An include names a path from src/, components/ or include/, as it is in the
# tree. What a module includes of others it declares; src/cmake/modules.py compares includes with declarations, when the
# build is configured, in each build and in a test, and draws the picture of the modules from the declarations.
function(substrata_declare_module)
  file(RELATIVE_PATH directory ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(JOIN ARGN " " uses)
  set_property(GLOBAL APPEND_STRING PROPERTY SUBSTRATA_MODULES "${directory} ${uses}\n")
endfunction()

# Lets a target include headers of modules. Quoted includes only: components/memory must not hide <memory>.
function(substrata_include_modules target)
  target_compile_options(${target} PRIVATE
    "SHELL:-iquote ${PROJECT_SOURCE_DIR}/src" "SHELL:-iquote ${PROJECT_SOURCE_DIR}/components")
endfunction()

# Optimises what computes long in a build with sanitizers: the rest is not optimised there (tests/run), which takes half
# of the compiler's time.
function(substrata_computes target)
  if(SUBSTRATA_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

option(SUBSTRATA_UNITY "compile sources of a target together: faster for a whole build, slower for a changed source"
       OFF)

# Lets sources of a target be compiled together, where src/cmake/together.py finds no name in the way.
function(substrata_together_ target)
  if(NOT SUBSTRATA_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(LENGTH sources count)
  if(count EQUAL 0)
    return()
  elseif(count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
  list(JOIN sources "\t" sources)
  set_property(GLOBAL APPEND_STRING PROPERTY SUBSTRATA_TOGETHER
    "${target}\t${CMAKE_CURRENT_SOURCE_DIR}\t${sources}\n")
endfunction()
function(substrata_group_sources)
  get_property(targets GLOBAL PROPERTY SUBSTRATA_TOGETHER)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/together.txt "${targets}")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/cmake/together.py
    ${CMAKE_BINARY_DIR}/generated/together.txt ${CMAKE_BINARY_DIR}/generated/together.cmake COMMAND_ERROR_IS_FATAL ANY)
  include(${CMAKE_BINARY_DIR}/generated/together.cmake)
endfunction()
if(SUBSTRATA_UNITY)
  cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL substrata_group_sources)
endif()

# Headers that most of a library's sources include, precompiled once for all that goes into a library.
function(substrata_compile_as_library_ target)
  get_target_property(sources ${target} SOURCES)
  if(SUBSTRATA_PCH AND NOT sources MATCHES "\\.c(;|$)")
    substrata_prelude(library_prelude SHARED
      HEADERS <algorithm> <array> <atomic> <cerrno> <chrono> <cstdint> <cstdio> <cstdlib> <cstring> <filesystem> <fstream>
              <functional> <map> <memory> <mutex> <optional> <set> <sstream> <string> <string_view> <utility> <vector>)
    substrata_use_prelude(${target} library_prelude)
  endif()
endfunction()

# How a module is compiled: in a build with sanitizers optimised only where it computes long.
function(substrata_compile_module_ target computes)
  if(computes AND SUBSTRATA_SANITIZE)
    substrata_computes(${target})
    if(SUBSTRATA_FUZZ AND NOT target MATCHES "^(component_owl|feed|workloads)$")
      target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)  # reads nothing of others
    endif()
  else()
    substrata_compile_as_library_(${target})
  endif()
endfunction()

# substrata_module(<name> [SOURCES ...] [MODULES ...] [LIBRARIES ...] [COMPUTES]): a module that is compiled into
# libsubstrata. Without sources it is headers only. COMPUTES: its code runs long in tests.
function(substrata_module name)
  cmake_parse_arguments(ARG "COMPUTES" "" "SOURCES;LIBRARIES;MODULES" ${ARGN})
  substrata_declare_module(${ARG_MODULES})
  if(ARG_SOURCES)
    substrata_objects_(${name} "${ARG_SOURCES}" "${ARG_LIBRARIES}")
    substrata_compile_module_(${name} "${ARG_COMPUTES}")
  endif()
endfunction()

# substrata_component(<name> [ORDER n] SOURCES ... [LIBRARIES ...] [MODULES ...] [COMPUTES]): a built-in substrate whose
# entry point is substrata_entry_<name>. ORDER places it in the built-in list (0 first, default 50), equal orders by
# name.
function(substrata_component name)
  cmake_parse_arguments(ARG "COMPUTES" "ORDER" "SOURCES;LIBRARIES;MODULES" ${ARGN})
  if(NOT DEFINED ARG_ORDER)
    set(ARG_ORDER 50)
  endif()
  substrata_declare_module(${ARG_MODULES})
  substrata_objects_(component_${name} "${ARG_SOURCES}" "${ARG_LIBRARIES}")
  substrata_compile_module_(component_${name} "${ARG_COMPUTES}")
  string(LENGTH "${ARG_ORDER}" width)
  if(width EQUAL 1)
    set(ARG_ORDER "0${ARG_ORDER}")
  endif()
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_BUILT_IN "${ARG_ORDER}:${name}")
endfunction()

# substrata_lists(<name>...): modules that have machines or workloads to list: void substrata::built_in::<name>() adds
# them to the feed (src/feed/built_in.hpp).
function(substrata_lists)
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_LISTED ${ARGN})
endfunction()

# substrata_use_lists(<target> [name...]): compiles into a target that holds the feed the array of those functions.
function(substrata_use_lists target)
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS ARGN)
    string(APPEND declarations "feed::BuiltIn ${name};\n")
    string(APPEND entries "substrata::built_in::${name}, ")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/generated/${target}_lists.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT
"// Generated by src/cmake/substrata.cmake: what has machines and workloads for the feed's lists.
#include \"feed/built_in.hpp\"

namespace substrata::built_in {
@declarations@}  // namespace substrata::built_in

namespace substrata::feed {
BuiltIn* const* built_in() noexcept {
  static constexpr BuiltIn* kAll[] = {@entries@nullptr};
  return kAll;
}
}  // namespace substrata::feed
" @ONLY)
  target_sources(${target} PRIVATE ${file})
  set_source_files_properties(${file} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  substrata_include_modules(${target})
endfunction()

# substrata_standalone_module(TARGETS ... [MODULES ...] [TOOL]): a module that is compiled into targets of its own, not
# into libsubstrata. TOOL: libraries of the command line's programs (substrata_compile_as_tool).
function(substrata_standalone_module)
  cmake_parse_arguments(ARG "TOOL" "" "TARGETS;MODULES" ${ARGN})
  substrata_declare_module(${ARG_MODULES})
  foreach(target IN LISTS ARG_TARGETS)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    substrata_include_modules(${target})
    substrata_together_(${target})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      continue()
    elseif(ARG_TOOL)
      substrata_compile_as_tool(${target})
    else()
      substrata_compile_as_library_(${target})
    endif()
  endforeach()
endfunction()

# What modules of libsubstrata and components share.
function(substrata_objects_ target sources libraries)
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  substrata_include_modules(${target})
  substrata_together_(${target})
  target_link_libraries(${target} PRIVATE ${libraries} Threads::Threads)
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_OBJECTS ${target})
  set_property(GLOBAL APPEND PROPERTY SUBSTRATA_LIBRARIES ${libraries})
endfunction()

# The declarations as a file, their comparison with the includes (now and in each build), and the target module_picture
# that draws docs/figures/modules.svg anew from them.
function(substrata_write_modules)
  get_property(modules GLOBAL PROPERTY SUBSTRATA_MODULES)
  set(declared ${CMAKE_BINARY_DIR}/generated/modules.txt)
  file(CONFIGURE OUTPUT ${declared} CONTENT "${modules}" @ONLY)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    return()
  endif()
  set(program ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/cmake/modules.py)
  execute_process(COMMAND ${program} includes ${declared} ${PROJECT_SOURCE_DIR} RESULT_VARIABLE status
                  OUTPUT_VARIABLE problems)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${problems}")
  endif()
  add_custom_target(module_includes ALL COMMAND ${program} includes ${declared} ${PROJECT_SOURCE_DIR} VERBATIM)
  add_custom_target(module_picture COMMAND ${program} draw ${declared} ${PROJECT_SOURCE_DIR} VERBATIM)
endfunction()
cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL substrata_write_modules)

# substrata_embed_texts(<function> TYPE t NAMESPACE n HEADER h FILES ...): <function>.cpp of this build folder, whose
# function returns the array of {name, text} of the files, ended by {nullptr, nullptr}. Configured anew when a file
# changes.
function(substrata_embed_texts function)
  cmake_parse_arguments(ARG "" "TYPE;NAMESPACE;HEADER" "FILES" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_FILES})
  set(texts "")
  foreach(file IN LISTS ARG_FILES)
    file(READ ${file} text)
    cmake_path(GET file FILENAME name)
    string(APPEND texts "    {\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp CONTENT
"// Generated by src/cmake/substrata.cmake.
#include \"@ARG_HEADER@\"

namespace @ARG_NAMESPACE@ {
namespace {
const @ARG_TYPE@ kTexts[] = {
@texts@    {nullptr, nullptr},
};
}  // namespace
const @ARG_TYPE@* @function@() noexcept { return kTexts; }
}  // namespace @ARG_NAMESPACE@
" @ONLY)
endfunction()

# What a shared library exports: the names in this version script.
function(substrata_exports library script)
  target_link_options(${library} PRIVATE -Wl,--version-script,${script})
  set_property(TARGET ${library} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# What a program with INTERNAL sees and links; else one with PAPI is a client of that generation's libpapi.
function(substrata_face_ target internal papi)
  if(internal)
    target_link_libraries(${target} PRIVATE substrata_static)
  elseif(papi)
    target_link_libraries(${target} PRIVATE papi-${papi})
  endif()
endfunction()

# A program of tests/ that sees include/ and tests/, inside also the modules.
function(substrata_inside_ target sources inside internal papi)
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/tests ${CMAKE_BINARY_DIR}/generated)
  substrata_face_(${target} "${internal}" "${papi}")
  if(internal OR inside)
    substrata_include_modules(${target})
  endif()
  target_link_libraries(${target} PRIVATE Threads::Threads)
endfunction()

option(SUBSTRATA_PCH
       "precompile the headers that most tests and the tool include; a build without shows what a file forgets" ON)

# The level of optimisation of what is compiled oftener than it runs long (docs/decisions/build_time.md).
function(substrata_level_ target level)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:${level}>)
endfunction()

# What ccache needs to see of a precompiled header: with GCC that there is one, with clang no times in it.
function(substrata_precompiling_ target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
                                           "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# What no shared library holds is compiled as programs are.
function(substrata_compile_as_part_of_programs_ target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIE)
endfunction()

# substrata_prelude(<name> HEADERS ... [LIBRARIES ...] [LEVEL -On] [SHARED]): headers to precompile for programs of
# these flags, or for what goes into libraries.
function(substrata_prelude name)
  if(TARGET ${name} OR NOT SUBSTRATA_PCH)
    return()
  endif()
  cmake_parse_arguments(ARG "SHARED" "LEVEL" "HEADERS;LIBRARIES" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${name}.cpp CONTENT
       "// Generated by src/cmake/substrata.cmake: only the headers count.\n" @ONLY)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  if(NOT ARG_SHARED)
    substrata_compile_as_part_of_programs_(${name})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} Threads::Threads)
  if(ARG_LEVEL)
    substrata_level_(${name} ${ARG_LEVEL})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Clang's holds the paths of its folder: one out of a cache would ask for another folder's files.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  substrata_precompiling_(${name})
endfunction()

# Lets a target compile with the headers of a prelude of the same flags read before.
function(substrata_use_prelude target prelude)
  if(NOT TARGET ${prelude})
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${prelude})
  substrata_precompiling_(${target})
  if(NOT SUBSTRATA_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Of std::string read precompiled, GCC 12 warns where it optimises as if it were no header of the system's.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow> $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
endfunction()

# substrata_compile_as_tool(<target>... [JSON]): programs of the command line and libraries that only these link. What
# computes long stands in other libraries. JSON: most of their sources read or write it; the others should not pay for
# the templates of its header.
function(substrata_compile_as_tool)
  cmake_parse_arguments(ARG "JSON" "" "" ${ARGN})
  set(level -O1)
  if(SUBSTRATA_SANITIZE OR SUBSTRATA_LAB)
    set(level -O0)
  endif()
  set(headers <algorithm> <cstdint> <cstdio> <cstdlib> <cstring> <filesystem> <fstream> <functional> <map> <memory>
              <optional> <stdexcept> <string> <utility> <vector>)
  if(ARG_JSON)
    set(prelude json_tool_prelude)
    substrata_prelude(${prelude} LEVEL ${level} LIBRARIES nlohmann_json::nlohmann_json
      HEADERS ${headers} <nlohmann/json.hpp>)
  else()
    set(prelude tool_prelude)
    substrata_prelude(${prelude} LEVEL ${level} HEADERS ${headers})
  endif()
  foreach(target IN LISTS ARG_UNPARSED_ARGUMENTS)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL EXECUTABLE)
      substrata_compile_as_part_of_programs_(${target})
    endif()
    substrata_level_(${target} ${level})
    substrata_use_prelude(${target} ${prelude})
  endforeach()
endfunction()

# Tiers of tests: each test has one of these labels, and tests/check_tiers looks whether that is so.
#   unit    sees the insides of a module          client  uses what is installed, as a user's program does
#   mpi     starts MPI programs                   slow    builds or runs much: a compiler, a package, a traced program
#   fuzz    a short run of a fuzz target          lab     runs in the emulated machine only (tests/lab)
set(SUBSTRATA_TIERS unit client mpi slow lab fuzz)
function(substrata_tier_ tier test)
  if(NOT tier IN_LIST SUBSTRATA_TIERS)
    message(FATAL_ERROR "${test}: TIER must be one of ${SUBSTRATA_TIERS}, not '${tier}'")
  endif()
endfunction()

# A program of the tests: what computes long stands in the libraries.
function(substrata_compile_as_test name)
  substrata_level_(${name} -O0)
  substrata_prelude(test_prelude LEVEL -O0 LIBRARIES GTest::gmock
    HEADERS <gmock/gmock.h> <gtest/gtest.h> <algorithm> <atomic> <chrono> <cstdint> <cstdio> <cstdlib> <cstring>
            <filesystem> <fstream> <functional> <iterator> <map> <memory> <mutex> <optional> <random> <set> <sstream>
            <string> <string_view> <thread> <utility> <vector> <sys/wait.h> <unistd.h>)
  substrata_use_prelude(${name} test_prelude)
  target_link_libraries(${name} PRIVATE GTest::gmock)  # for its definitions too, which those of the headers must equal
  if(SUBSTRATA_UNITY)
    # Of sources compiled together GCC takes each for a header, and warns of fixtures in unnamed namespaces.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# substrata_test(<name> SOURCES ... [LIBRARIES ...] [TIER t] [TIMEOUT s] [INTERNAL | INSIDE] [PAPI 7.0|7.3]
# [TWO_PROCESSORS] [COMPUTES] [SEQUENTIAL] [CONTAINER] [ONCE]): a GoogleTest program; every TEST in it is a ctest test.
#   INSIDE      may include the headers of modules ("core/eventset/..."); else an ordinary client
#   INTERNAL    the same, and links the static library
#   PAPI        links that generation's libpapi (implies client)
#   TIER        its label; without it unit for what sees modules, client for the others
#   TWO_PROCESSORS  its tests start MPI ranks, which take more than one
#   COMPUTES    its own code runs long (an oracle, an exhaustive search): optimised as the library is
#   SEQUENTIAL  neither it nor a program that it starts has a second thread: a thread sanitizer, which reports races
#               between threads of a process, would find nothing in it, and its build goes without
#   CONTAINER   run once more as in a container with its defaults: no event of the kernel's, 64 MB of /dev/shm
#   ONCE        of pages, packages, scripts, generated text: not in builds with sanitizers, which would show no more
function(substrata_test name)
  cmake_parse_arguments(ARG "INTERNAL;INSIDE;TWO_PROCESSORS;COMPUTES;SEQUENTIAL;CONTAINER;ONCE" "TIMEOUT;PAPI;TIER"
                        "SOURCES;LIBRARIES;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_TIER)
    set(ARG_TIER client)
    if(ARG_INTERNAL OR ARG_INSIDE)
      set(ARG_TIER unit)
    endif()
  endif()
  substrata_tier_(${ARG_TIER} ${name})
  substrata_inside_(${name} "${ARG_SOURCES}" "${ARG_INSIDE}" "${ARG_INTERNAL}" "${ARG_PAPI}")
  substrata_together_(${name})
  if(ARG_COMPUTES)
    substrata_computes(${name})
  else()
    substrata_compile_as_test(${name})
    # The library's sources in it do not include what the prelude has.
    set(without ${ARG_SOURCES})
    list(FILTER without INCLUDE REGEX "\\.c$|^${PROJECT_SOURCE_DIR}/(components|src)/")
    if(without)
      set_source_files_properties(${without} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main)
  if(ARG_SEQUENTIAL)
    substrata_check_sequential_(${name} "${ARG_SOURCES}")
  endif()
  if((ARG_SEQUENTIAL AND SUBSTRATA_SANITIZE MATCHES thread) OR (ARG_ONCE AND SUBSTRATA_SANITIZE))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(NOT TARGET substrata_tests)
    add_custom_target(substrata_tests)  # all test programs of this build and what they need
  endif()
  add_dependencies(substrata_tests ${name})
  set(properties TIMEOUT ${ARG_TIMEOUT} LABELS ${ARG_TIER} COST ${ARG_TIMEOUT})  # what takes long begins first
  if(ARG_TWO_PROCESSORS)
    list(APPEND properties PROCESSORS 2)
  endif()
  if(ARG_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
                       WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests PROPERTIES ${properties})
  if(ARG_CONTAINER AND NOT SUBSTRATA_SANITIZE)
    substrata_program_test(Container.${name} TIER slow TIMEOUT ${ARG_TIMEOUT}
                           COMMAND container $<TARGET_FILE:${name}> --gtest_brief=1)
  endif()
endfunction()

# A test program that makes a thread is not sequential, whatever its CMakeLists.txt says.
function(substrata_check_sequential_ name sources)
  list(FILTER sources EXCLUDE REGEX "^\\$<")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} concurrent LIMIT_COUNT 1
         REGEX "std::j?thread|std::async|pthread_create|thrd_create")
    if(concurrent)
      message(FATAL_ERROR "${name} is SEQUENTIAL, yet ${source} has '${concurrent}'")
    endif()
  endforeach()
endfunction()

# substrata_program_test(<name> TIER t [TIMEOUT s] [ENVIRONMENT ...] [PASSES_WITH expression] [ONCE] COMMAND ...): a
# program that is a test by its exit status.
function(substrata_program_test name)
  cmake_parse_arguments(ARG "ONCE" "TIER;TIMEOUT;PASSES_WITH" "COMMAND;ENVIRONMENT" ${ARGN})
  substrata_tier_("${ARG_TIER}" ${name})
  if(ARG_ONCE AND SUBSTRATA_SANITIZE)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_TIER} TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT})
  if(ARG_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  if(ARG_PASSES_WITH)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${ARG_PASSES_WITH}")
  endif()
endfunction()

# substrata_benchmark(<name> SOURCES ... [LIBRARIES ...] [INTERNAL | INSIDE] [PAPI v]): build/bin/bench_<name>;
# never a test.
function(substrata_benchmark name)
  if(NOT SUBSTRATA_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "INTERNAL;INSIDE" "PAPI" "SOURCES;LIBRARIES" ${ARGN})
  substrata_inside_(bench_${name} "${ARG_SOURCES}" "${ARG_INSIDE}" "${ARG_INTERNAL}" "${ARG_PAPI}")
  target_link_libraries(bench_${name} PRIVATE ${ARG_LIBRARIES} benchmark::benchmark)
endfunction()

# substrata_fuzzer(<name> SOURCES ... [LIBRARIES ...] [SEEDS folder]): a libFuzzer target (clang,
# SUBSTRATA_FUZZ), with a short run of it as the ctest test fuzz.<name>, which begins with the inputs kept in the
# folder corpus_<name> beside its sources. What memory and time an input may take: tests/support/fuzz_limits.cpp.
function(substrata_fuzzer name)
  if(NOT SUBSTRATA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SEEDS" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT TARGET fuzz_limits)
    add_library(fuzz_limits OBJECT ${PROJECT_SOURCE_DIR}/tests/support/fuzz_limits.cpp)
  endif()
  substrata_inside_(fuzz_${name} "${ARG_SOURCES};$<TARGET_OBJECTS:fuzz_limits>" TRUE TRUE "")
  target_compile_definitions(fuzz_${name} PRIVATE LLVMFuzzerTestOneInput=fuzz_one_input)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_LIBRARIES} substrata_static)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/corpus_${name})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/corpus_${name})
    list(APPEND ARG_SEEDS ${CMAKE_CURRENT_SOURCE_DIR}/corpus_${name})
  endif()
  substrata_program_test(fuzz.${name} TIER fuzz COMMAND fuzz_${name} -seed=1 -max_total_time=3 -timeout=20
    -rss_limit_mb=2048 -verbosity=0
    -print_final_stats=1 ${CMAKE_BINARY_DIR}/fuzz/corpus_${name} ${ARG_SEEDS})
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
