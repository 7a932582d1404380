// ELF symbol tables: this program's own, and damaged files.
#include "sources/access_tracer/symbols.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vector>

namespace within {
int a_variable_of_a_namespace;
}
int a_variable_of_this_test[10];
extern "C" {
int d[10];  // as C++ encodes the type double
}
extern "C" __attribute__((noinline)) int a_function_of_this_test() { return a_variable_of_this_test[3]; }

namespace substrata::access_tracer {
namespace {

std::vector<unsigned char> own_file() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ElfSymbols, NamesAFunctionAndAVariableOfThisProgram) {
  Symbols symbols;
  const Symbol* function = symbols.function_at(reinterpret_cast<uintptr_t>(&a_function_of_this_test));
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function->plain_name(), "a_function_of_this_test");
  const Symbol* variable = symbols.variable_at(reinterpret_cast<uintptr_t>(&a_variable_of_this_test[9]));
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->plain_name(), "a_variable_of_this_test");
  EXPECT_GE(variable->size, sizeof a_variable_of_this_test);  // AddressSanitizer lays a zone around it
}

TEST(ElfSymbols, AVariableOfOneLetterIsNoType) {
  Symbols symbols;
  const Symbol* variable = symbols.variable_at(reinterpret_cast<uintptr_t>(&d[9]));
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->plain_name(), "d");
}

// Demangling all of a program's symbols was more than half of what a small program that nobody observed did.
TEST(ElfSymbols, ANameIsDemangledWhenItIsAskedForAndNotBefore) {
  Symbols symbols;
  const Symbol* variable =
      symbols.variable_at(reinterpret_cast<uintptr_t>(&within::a_variable_of_a_namespace));
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->name, "_ZN6within25a_variable_of_a_namespaceE");
  EXPECT_EQ(variable->plain_name(), "within::a_variable_of_a_namespace");
}

TEST(ElfSymbols, AFunctionOfALibraryHasItsNameThere) {
  // A sanitizer has a function of the same name in the program.
  void* const library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) GTEST_SKIP() << "another C library";
  const auto address = reinterpret_cast<uintptr_t>(dlsym(library, "qsort"));
  dlclose(library);
  Symbols symbols;
  const Symbol* const function = symbols.function_at(address);
  ASSERT_NE(function, nullptr);
  EXPECT_NE(function->plain_name().find("qsort"), std::string::npos) << function->plain_name();
  EXPECT_NE(symbols.origin_of(address).path.find("/libc"), std::string::npos);
}

TEST(ElfSymbols, AnAddressNobodyNamesGivesNothing) {
  Symbols symbols;
  EXPECT_EQ(symbols.function_at(16), nullptr);
  EXPECT_EQ(symbols.variable_at(16), nullptr);
}

TEST(ElfSymbols, AFileCutOffAnywhereIsReadWithoutHarm) {
  const std::vector<unsigned char> whole = own_file();
  ASSERT_GT(whole.size(), 1000u);
  for (size_t size = 0; size < 200; ++size) (void)read_elf_symbols(whole.data(), size);
  for (size_t part = 1; part < 40; ++part) {
    const std::vector<unsigned char> cut(whole.begin(),
                                         whole.begin() + static_cast<long>(whole.size() * part / 40));
    (void)read_elf_symbols(cut.data(), cut.size());
  }
  SUCCEED();
}

TEST(ElfSymbols, WhatIsNoElfFileGivesNothing) {
  const std::vector<unsigned char> text(5000, 'x');
  EXPECT_TRUE(read_elf_symbols(text.data(), text.size()).functions.empty());
}

}  // namespace
}  // namespace substrata::access_tracer
