// Modules composed of others by a text: "input -> filter(size > 64) -> histogram(counters = 32)".
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace substrata::owl {

struct Composition;

// 0, or a negative number with a message that begins with "ORIGIN:LINE:COLUMN: ".
int compose_and_add(std::string_view text, const std::string& origin);
int check_composition(std::string_view text, const std::string& origin, std::string* name);

// The same of a query, "PROBES: stage -> stage; ...", under a name of its own; it stays until the process ends, also
// where it is taken out of the library. Checked only where `add` is false.
int compose_query(std::string_view text, const std::string& origin, bool add,
                  std::shared_ptr<const Composition>* out);

}  // namespace substrata::owl
