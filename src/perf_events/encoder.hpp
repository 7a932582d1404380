// Names of hardware events and their encodings from an outside table (libpfm4), behind an interface.
#pragma once

#include <substrata/substrate.h>

#include <memory>
#include <string>
#include <vector>

#include "perf_events/encoding.hpp"

namespace substrata::perf {

// A table of a processor family's events. Calls are serialised by their one caller, the catalogue.
class Encoder {
 public:
  struct Named {
    std::string name;  // as listed: without prefix for the default PMU, else "pmu::EVENT"
    std::string text;
  };
  virtual ~Encoder() = default;
  // The PMUs this machine has, the default one first. The first question may cost milliseconds.
  virtual std::vector<std::string> pmus() = 0;
  virtual std::vector<Named> events() = 0;
  virtual std::vector<Qualifier> qualifiers(const std::string& name) = 0;
  // Fills *out for a name with its qualifiers, user mode unless the name says otherwise. Not ok: kNoEvent
  // (unknown name), kAttribute (a bad or a missing qualifier), with the reason in *error.
  virtual Code encode(const std::string& name, Encoding* out, std::string* error) = 0;
};

enum class PmuKind { kCore, kUncore };

// libpfm4, initialised at the first question, honouring LIBPFM_FORCE_PMU. Its tables are the process's own
// and stay as long as the process; other users of libpfm4 in the process are not disturbed. `root`: where "/" is; of a
// recorded machine no name is known.
std::unique_ptr<Encoder> libpfm_encoder(const char* root, PmuKind kind);

}  // namespace substrata::perf
