// A file descriptor with an owner.
#pragma once

#include <unistd.h>

namespace substrata::sampler {

// Closed at the end, where it is one (not negative).
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

}  // namespace substrata::sampler
