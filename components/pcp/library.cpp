// Loads libpcp and finds its functions.
#include "pcp/library.hpp"

#include <utility>

namespace substrata::pcp {

bool Library::load(const char* folder, std::string* why) {
  const bool chosen = folder != nullptr && *folder != '\0';
  const auto load_from = [this](const std::string& path) {
    if (library_) return;
    if (Result<SharedLibrary> loaded = SharedLibrary::load(path)) library_ = std::move(*loaded);
  };
  if (chosen)
    for (const char* const below : {"/lib64/libpcp.so.3", "/lib/libpcp.so.3"})
      load_from(std::string(folder) + below);
  else
    load_from("libpcp.so.3");
  if (!library_) {
    *why = chosen ? "PAPI_PCP_ROOT is " + std::string(folder) + ", below which no lib64/libpcp.so.3 loads"
                  : "libpcp.so.3 of Performance Co-Pilot is not installed (apt install pcp, dnf install "
                    "pcp), nor is "
                    "PAPI_PCP_ROOT set";
    return false;
  }
  if (find_functions()) return true;
  *why = "the libpcp.so.3 found lacks functions of version 3.10; install a newer pcp";
  return false;
}

bool Library::find_functions() {
  const SharedLibrary& in = library_;
  return in.find("pmNewContext", &new_context) && in.find("pmUseContext", &use_context) &&
         in.find("pmDestroyContext", &destroy_context) && in.find("pmTraversePMNS_r", &traverse) &&
         in.find("pmLookupName", &look_up) && in.find("pmLookupDesc", &describe) &&
         in.find("pmLookupText", &help) && in.find("pmGetInDom", &instances) && in.find("pmFetch", &fetch) &&
         in.find("pmFreeResult", &free_result) && in.find("pmExtractValue", &extract) &&
         in.find("pmUnitsStr_r", &unit) && in.find("pmErrStr_r", &error_text_);
}

std::string Library::text(int error) const {
  char text[256] = "";
  error_text_(error, text, sizeof text);
  return text;
}

}  // namespace substrata::pcp
