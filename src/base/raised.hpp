// A flag, mostly of a thread, that is up while something runs.
#pragma once

namespace substrata {

// Puts it back as it was, so that they nest. Signal-safe.
template <typename Flag>
class Raised {
 public:
  explicit Raised(Flag& flag) noexcept : flag_(flag), before_(flag) { flag_ = true; }
  ~Raised() { flag_ = before_; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  Flag& flag_;
  const bool before_;
};

}  // namespace substrata
