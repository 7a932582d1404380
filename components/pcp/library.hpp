// Performance Co-Pilot's client library, version 3, loaded at run time: the part of its interface that is used.
#pragma once

#include <sys/time.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/shared_library.hpp"

namespace substrata::pcp {

// As <pcp/pmapi.h> of PCP 3.10 to 6 has them; libpcp.so.4 has others, so only libpcp.so.3 is loaded.
struct Description {
  uint32_t metric;
  int type;
  uint32_t instances;  // its instance domain
  int semantics;
  uint32_t units;
};
struct Value {
  int instance;
  union {
    void* block;
    int number;
  } is;
};
struct Values {
  uint32_t metric;
  int count;  // less than 0: an error
  int format;
  Value value[1];  // `count` of them
};
struct Fetched {
  timeval time;
  int count;
  Values* of[1];  // `count` of them, in the order asked for
};
union Atom {
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
  float f32;
  double f64;
  char* text;
};
static_assert(sizeof(Description) == 20 && sizeof(Value) == 16 && offsetof(Values, value) == 16 &&
              offsetof(Fetched, of) == 24);

enum Type : int { kI32, kU32, kI64, kU64, kFloat, kDouble };
inline constexpr int kCounter = 1;  // Description::semantics
inline constexpr uint32_t kNoInstances = 0xffffffff;
inline constexpr int kOneLine = 1;  // of the texts
inline constexpr int kHostContext = 1;

// Thread-compatible: callers make one call at a time.
class Library {
 public:
  // Loads libpcp.so.3, from below `folder` (PAPI_PCP_ROOT) where that is given. False with a message.
  bool load(const char* folder, std::string* why);
  std::string text(int error) const;

  int (*new_context)(int type, const char* host) = nullptr;
  int (*use_context)(int) = nullptr;
  int (*destroy_context)(int) = nullptr;
  int (*traverse)(const char*, void (*)(const char*, void*), void*) = nullptr;
  int (*look_up)(int, const char**, uint32_t*) = nullptr;
  int (*describe)(uint32_t, Description*) = nullptr;
  int (*help)(uint32_t, int, char**) = nullptr;
  int (*instances)(uint32_t, int**, char***) = nullptr;
  int (*fetch)(int, uint32_t*, Fetched**) = nullptr;
  void (*free_result)(Fetched*) = nullptr;
  int (*extract)(int format, const Value*, int type, Atom*, int wanted) = nullptr;
  const char* (*unit)(const uint32_t*, char*, int) = nullptr;

 private:
  bool find_functions();
  SharedLibrary library_;
  char* (*error_text_)(int, char*, int) = nullptr;
};

}  // namespace substrata::pcp
