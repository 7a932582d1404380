// Pages in headless Chromium.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/program.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::tests {

struct Browsed {
  nlohmann::json found;  // what the script made of `out`; null where the browser did not come so far
  std::string said;      // by the browser, with the page's console
  bool works = true;     // the browser shows any page at all here
};

inline Ran chromium(const TemporaryFolder& folder, const std::string& address,
                    const std::string& options = "") {
  return shell(
      "timeout 90 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=" +
      folder.file("profile") + " --enable-logging=stderr --window-size=2600,1200 " + options +
      " --virtual-time-budget=4000 --dump-dom '" + address + "'");
}

// The address in a frame so many pixels wide, and there the script, which fills `out`.
inline Browsed browse(std::string page, int width, const std::string& script,
                      const std::string& options = "") {
  const TemporaryFolder folder;
  const std::string probe = "<script>(function () { const out = {}; " + script +
                            "\nparent.postMessage(JSON.stringify(out), '*'); }());</script></body>";
  page.replace(page.rfind("</body>"), 7, probe);
  std::ofstream(folder.file("page.html")) << page;
  std::ofstream(folder.file("frame.html"))
      << "<!DOCTYPE html><p>works here</p><script>addEventListener('message', (event) => { const found = "
         "document.createElement('pre'); found.id = 'found'; found.textContent = event.data; "
         "document.body.append(found); });</script><iframe src='page.html' width='"
      << width << "' height='1000' style='border: 0'></iframe>";
  const Ran ran = chromium(folder, "file://" + folder.file("frame.html"), options);
  Browsed out;
  out.said = ran.errors;
  out.works = ran.out.find("works here") != std::string::npos;
  const std::string opening = "<pre id=\"found\">";
  const std::size_t begin = ran.out.rfind(opening);
  if (begin == std::string::npos) return out;
  const std::size_t from = begin + opening.size();
  out.found =
      nlohmann::json::parse(ran.out.substr(from, ran.out.find("</pre>", from) - from), nullptr, false);
  return out;
}

#define SKIP_WITHOUT_BROWSER(browsed)                                                            \
  if (substrata::tests::kSanitized) GTEST_SKIP() << "the page is not what a sanitizer looks at"; \
  if (!(browsed).works)                                                                          \
  GTEST_SKIP() << "chromium (Debian package chromium) does not run here: " << (browsed).said.substr(0, 300)

}  // namespace substrata::tests
