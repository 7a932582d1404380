// The claims of a reproduction and the sizes at which they are tried, from the files of the folder claims.
#pragma once

#include <string>

#include "papers/reproduction.hpp"

namespace substrata::papers {

// The study that a file states (README.md has its members). A bound that is left out admits every number on its side.
// Throws std::invalid_argument where a member is missing, unknown or of another kind, and what Claim's constructor
// does.
Study study_from(const std::string& text, Readings (*measure)(const Case&));

// The text of the file of a reproduction. Generated.
std::string stated_claims(const std::string& id);

// The reproduction that tries these claims.
inline Reproduction stated(const char* id, const char* title, Readings (*measure)(const Case&),
                           void (*figures)(const Setting&) = nullptr) {
  return {.id = id,
          .title = title,
          .study = [id, measure] { return study_from(stated_claims(id), measure); },
          .figures = figures};
}

}  // namespace substrata::papers
