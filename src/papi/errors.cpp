// Error numbers as text, and what is done with them on request: PAPI_strerror, PAPI_perror, PAPI_set_debug.
#include <cstdio>
#include <iterator>

#include "base/uncancelled.hpp"
#include "core/eventset/options.hpp"
#include "papi/boundary.hpp"

namespace substrata::capi {
namespace {

// PAPI's own texts, which scripts compare (observed on 7.0 and 7.3).
const char* const kTexts[] = {
    "No error",
    "Invalid argument",
    "Insufficient memory",
    "A System/C library call failed",
    "Not supported by component",
    "Access to the counters was lost or interrupted",
    "Internal error, please send mail to the developers",
    "Event does not exist",
    "Event exists, but cannot be counted due to hardware resource limits",
    "EventSet is currently not running",
    "EventSet is currently counting",
    "No such EventSet available",
    "Event in argument is not a valid preset",
    "Hardware does not support performance counters",
    "Unknown error code",
    "Permission level does not permit operation",
    "PAPI hasn't been initialized yet",
    "Component Index isn't set",
    "Not supported",
    "Not implemented",
    "Buffer size exceeded",
    "EventSet domain is not supported for the operation",
    "Invalid or missing event attributes",
    "Too many events or attributes",
    "Bad combination of features",
    "Component containing event is disabled",
    "Delayed initialization component",
    "Event exists, but cannot be counted due to multiple passes required by hardware",
#ifndef PAPI_GENERATION_7_0
    "Component in use is partially disabled, see utils/papi_component_avail for more information.",
#endif
};
static_assert(std::size(kTexts) == PAPI_NUM_ERRORS);

const char* text_of(int code) noexcept {
  if (code > 0 || code <= -PAPI_NUM_ERRORS) return nullptr;
  return kTexts[-code];
}

thread_local int last_error __attribute__((tls_model("initial-exec"))) = PAPI_OK;

}  // namespace

int print_refusal(int code) noexcept {
  const Uncancelled here;
  const char* text = text_of(code);
  std::fprintf(stderr, "PAPI Error Code %d: %s (%s)\n", code, text != nullptr ? text : "unknown",
               last_refusal());
  return code;
}

int refused(int code) noexcept {
  last_error = code;
  const int level = debug_level();
  if (level == PAPI_QUIET) [[likely]]
    return code;
  if (const DebugHandler handler = debug_handler()) {
    handler(code);
  } else {
    print_refusal(code);
  }
  return code;
}

}  // namespace substrata::capi

using namespace substrata;
using namespace substrata::capi;

CAPI char* PAPI_strerror(int code) { return const_cast<char*>(text_of(code)); }

CAPI void PAPI_perror(const char* msg) {
  const Uncancelled here;
  const char* text = text_of(last_error);
  if (text == nullptr) text = "Unknown error code";
  if (msg != nullptr && *msg != '\0')
    std::fprintf(stderr, "%s: %s\n", msg, text);
  else
    std::fprintf(stderr, "%s\n", text);
}

CAPI int PAPI_set_debug(int level) {
  return answered([&] { return answer(set_debug_level(level)); });
}
