// One Fortran procedure under every name a Fortran compiler may give it, and its texts.
#pragma once

#include <papi.h>

#include <cstddef>
#include <cstring>
#include <string>

#define FORTRAN_VISIBLE extern "C" __attribute__((visibility("default")))
#define FORTRAN_ALIAS(lower) __attribute__((visibility("default"), alias("papif_" #lower "_")))

// Generation 7.0 also has the undecorated name, for compilers that add no underscore.
#ifdef PAPI_GENERATION_7_0
#define FORTRAN_PLAIN(lower, parameters) extern "C" FORTRAN_ALIAS(lower) void papif_##lower parameters;
#else
#define FORTRAN_PLAIN(lower, parameters)
#endif

// FORTRAN(start, START, (int* set, int* check)) { ... }: papif_start_, papif_start__, PAPIF_START. Every
// argument is an address; lengths of texts follow all arguments by value, as GNU, Intel and LLVM compilers
// pass them.
#define FORTRAN(lower, upper, parameters)                            \
  FORTRAN_VISIBLE void papif_##lower##_ parameters;                  \
  extern "C" FORTRAN_ALIAS(lower) void papif_##lower##__ parameters; \
  extern "C" FORTRAN_ALIAS(lower) void PAPIF_##upper parameters;     \
  FORTRAN_PLAIN(lower, parameters)                                   \
  FORTRAN_VISIBLE void papif_##lower##_ parameters

namespace substrata::capi {

// A Fortran text without the blanks that fill it; it also ends at a zero byte.
inline std::string from_fortran(const char* text, size_t length) {
  if (text == nullptr) return {};
  length = strnlen(text, length);
  while (length > 0 && text[length - 1] == ' ') --length;
  return {text, length};
}

// A C text cut to fit or filled with blanks.
inline void to_fortran(const char* text, char* out, size_t length) {
  const size_t given = text != nullptr ? strnlen(text, length) : 0;
  if (given > 0) std::memcpy(out, text, given);
  if (length > given) std::memset(out + given, ' ', length - given);
}

}  // namespace substrata::capi
