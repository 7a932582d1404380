// Makes the folder of a recorded machine from its text: unfold FILE DIR.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tools/recorded_machines/text_form.hpp"

int main(int, char** argv) {
  std::ifstream in(argv[1]);
  std::filesystem::remove_all(argv[2]);
  substrata::machines::from_text(std::string{std::istreambuf_iterator<char>(in), {}}, argv[2]);
  return in ? 0 : 1;
}
