// The public interface as debug information for abidw and abidiff: a variable of every type of the headers and of every
// exported function's, and every number that a header defines.
#include <substrata/compact.h>
#include <substrata/extensions.h>
#include <substrata/feed.h>
#include <substrata/live_board.h>
#include <substrata/myrinet.h>
#include <substrata/numachine.h>
#include <substrata/owl.h>
#include <substrata/owl_module.h>
#include <substrata/pages.h>
#include <substrata/recording.h>
#include <substrata/samples.h>
#include <substrata/shared_pages.h>
#include <substrata/shrimp.h>
#include <substrata/substrate.h>
#include <substrata/values.h>

using namespace substrata;

enum Numbers : uint64_t {
#define TYPE(name)
#define FUNCTION(name)
#define NUMBER(name) name##_ = static_cast<uint64_t>(name),
#include "interface.inc"
#undef TYPE
#undef FUNCTION
#undef NUMBER
};
extern "C" SUBSTRATA_API Numbers interface_numbers;
Numbers interface_numbers;

#define TYPE(name)                                \
  extern "C" SUBSTRATA_API name interface_##name; \
  name interface_##name;
#define FUNCTION(name)                                       \
  extern "C" SUBSTRATA_API decltype(&name) interface_##name; \
  decltype(&name) interface_##name;
#define NUMBER(name)
#include "interface.inc"
