// The debug log: silent unless PAPI_DEBUG asks for a topic, or a handler was set.
#pragma once

#include <cstdint>

namespace substrata {

// Topics of PAPI_DEBUG (PAPI's names: SUBSTRATE, API, INTERNAL, THREADS, MULTIPLEX, OVERFLOW, PROFILE, ALL).
enum LogTopic : uint32_t {
  kLogSubstrate = 1u << 0,
  kLogApi = 1u << 1,
  kLogInternal = 1u << 2,
  kLogThreads = 1u << 3,
  kLogMultiplex = 1u << 4,
  kLogOverflow = 1u << 5,
  kLogProfile = 1u << 6,
  kLogAll = ~0u,
};

// Reads PAPI_DEBUG (topics separated by ',' or ':'); called by library initialisation.
void configure_log() noexcept;
bool log_wanted(uint32_t topic) noexcept;

// One line to standard error, where wanted. Thread-safe.
void log_line(uint32_t topic, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

}  // namespace substrata
