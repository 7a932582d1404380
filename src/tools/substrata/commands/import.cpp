// substrata import: the output of another tool as a trace.
#include <substrata/feed.hpp>

#include <cstdio>
#include <stdexcept>

#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {

int import_trace(int argc, char** argv) {
  std::string format, text, trace;
  Arguments arguments("substrata import",
                      "Converts the output of another tool to a trace.\n\n"
                      "  valgrind --tool=lackey --trace-mem=yes --log-fd=3 ./program 3>&1 >/dev/null | "
                      "substrata import lackey - "
                      "ls.trace\n"
                      "  substrata replay -m memory ls.trace");
  arguments.choice("FORMAT", format, {"lackey"}, "lackey: valgrind --tool=lackey --trace-mem=yes");
  arguments.required("TEXT", text, "output of the tool; - is standard input", Arguments::Value::kFile);
  arguments.required("TRACE", trace, "trace to write", Arguments::Value::kFile);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  auto summary = client::sized<substrata_import_summary>();
  if (substrata_import_lackey(text.c_str(), trace.c_str(), &summary) != 0)
    throw std::runtime_error(substrata_feed_error());
  std::printf("%llu lines: %llu transactions, %llu lines of the tool itself left out\n",
              static_cast<unsigned long long>(summary.lines),
              static_cast<unsigned long long>(summary.transactions),
              static_cast<unsigned long long>(summary.ignored_lines));
  return 0;
}

}  // namespace substrata::tool
