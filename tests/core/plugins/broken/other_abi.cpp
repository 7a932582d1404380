// A substrate built for an interface this library does not speak.
#include <substrata/substrate.h>

namespace {
constexpr substrata::SubstrateTable kTable{.abi = substrata::kSubstrateAbi + 41, .name = "otherabi"};
}  // namespace

SUBSTRATA_PUBLISH(otherabi, kTable);
