// papi_command_line: counts the events named on the command line over a piece of work.
#include <cstdio>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

// Floating-point work over memory that is touched for the first time.
double work() {
  std::vector<double> numbers(1 << 20);
  double sum = 0;
  for (int round = 0; round < 10; ++round)
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = numbers[i] * 0.5 + static_cast<double>(i);
      sum += numbers[i];
    }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  bool as_unsigned = false, hexadecimal = false;
  std::vector<std::string> names;
  substrata::Arguments arguments("papi_command_line", "Counts events over a piece of work.");
  arguments.flag("-u", as_unsigned, "print the values as unsigned numbers");
  arguments.flag("-x", hexadecimal, "print the values in hexadecimal");
  arguments.words("EVENTNAMEs", names, "preset or native events, of any components");
  if (const auto status = arguments.parse(argc, argv)) return *status;

  std::printf("\nThis utility lets you add events from the command line interface to see if they work.\n\n");
  if (names.empty()) {
    std::printf("No events specified!\nTry running something like: %s PAPI_TOT_CYC\n\n", argv[0]);
    return 0;
  }
  start_library();
  Sets sets;
  bool failed = false;
  for (const std::string& name : names) {
    const int status = sets.add(name);
    if (status == PAPI_OK) {
      std::printf("Successfully added: %s\n", name.c_str());
    } else {
      failed = true;
      std::printf("Failed adding: %s\nbecause: %s\n", name.c_str(), message(status).c_str());
    }
  }
  std::printf("\n");
  if (sets.names().empty()) return 1;
  if (const int status = sets.start(); status != PAPI_OK) {
    std::fprintf(stderr, "papi_command_line: the events do not start: %s\n", message(status).c_str());
    return 1;
  }
  volatile double sink = work();
  (void)sink;
  std::vector<long long> values;
  if (const int status = sets.stop(values); status != PAPI_OK) {
    std::fprintf(stderr, "papi_command_line: the events do not stop: %s\n", message(status).c_str());
    return 1;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s : \t", sets.names()[i].c_str());
    if (hexadecimal)
      std::printf("0x%llx \n", static_cast<unsigned long long>(values[i]));
    else if (as_unsigned)
      std::printf("%llu \n", static_cast<unsigned long long>(values[i]));
    else
      std::printf("%lld \n", values[i]);
  }
  std::printf("\n----------------------------------\n");
  return failed ? 1 : 0;
}
