// Turns exceptions into refusals.
#include "base/guard.hpp"

#include <exception>
#include <new>
#include <stdexcept>

namespace substrata {

Status caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return refuse(Code::kNoMemory, "no memory is left for what was asked");
  } catch (const std::length_error&) {
    return refuse(Code::kNoMemory, "no memory is left for what was asked");
  } catch (const std::exception& error) {
    return refuse(Code::kBug, "an unexpected exception: %s", error.what());
  } catch (...) {
    return refuse(Code::kBug, "an unexpected exception");
  }
}

}  // namespace substrata
