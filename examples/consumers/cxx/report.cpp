// What the consumer of the C++ interface builds: which PAPI answers, and its substrates with their reasons.
#include <cstdio>
#include <substrata/substrata.hpp>

int main() {
  const auto library = substrata::client::Library::open();
  if (!library) {
    std::fprintf(stderr, "%s\n", library.error().sentence.c_str());
    return 1;
  }
  const int version = PAPI_get_opt(PAPI_LIB_VERSION, nullptr);
  std::printf("answered by %d.%d.%d.%d\n", PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version),
              PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
  for (const auto& substrate : library->substrates())
    std::printf("%s: %s\n", substrate.name.c_str(),
                substrate.available ? "available" : substrate.why.c_str());
  return 0;
}
