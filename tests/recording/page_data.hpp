// What the script of a page draws from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace substrata::tests {

inline std::string data_text_of(const std::string& page) {
  const std::string opening = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(opening) + opening.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}
inline nlohmann::json data_of(const std::string& page) { return nlohmann::json::parse(data_text_of(page)); }

// The value of a row of the provenance; "(none)" where there is not exactly one.
inline std::string provenance_of(const std::string& page, const std::string& name) {
  std::string found = "(none)";
  const nlohmann::json data = data_of(page);
  for (const nlohmann::json& row : data.at("provenance"))
    if (row[0] == name) found = found == "(none)" ? row[1].get<std::string>() : "(twice)";
  return found;
}

}  // namespace substrata::tests
