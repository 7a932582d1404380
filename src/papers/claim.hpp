// A claim of a paper as it is tested: what the paper says, what is compared, when it holds, and which switch of the
// model takes away the cause that the paper names.
#pragma once

#include <string>
#include <vector>

namespace substrata::papers {

// What the paper says, in our words.
struct Statement {
  std::string section;  // "4.1, figure 4"
  std::string text;
  std::string value;  // the paper's, with unit, or "no figure given"
};

// When it holds: the reading is from `least` to `most`. Fixed before a result is known.
struct Criterion {
  std::string compared;  // what the reading is
  std::string unit;      // "%": the reading is a share, shown as per cent
  double least;
  double most;
};

// What the readings of the seeds are put together to.
enum class Interval { kMean, kRange };  // 95 % confidence interval of the mean; least to most

// A parameter without a source, and the settings of the model in which it is swept.
struct Unsourced {
  std::string parameter;
  std::vector<std::string> settings;
};

// A setting of the model in which the cause that the paper names is absent: the claim must not hold then.
struct Mutant {
  std::string setting;
  std::string removes;
};

class Claim {
 public:
  // `fitted`: what of the model was fitted to this figure, "nothing" if nothing was. Throws std::invalid_argument
  // when something is left empty, or when the criterion admits every number.
  Claim(std::string id, Statement statement, Criterion criterion, Interval interval, std::string fitted,
        std::vector<Unsourced> unsourced, Mutant mutant);

  const std::string& id() const noexcept { return id_; }
  const Statement& statement() const noexcept { return statement_; }
  const Criterion& criterion() const noexcept { return criterion_; }
  Interval interval() const noexcept { return interval_; }
  const std::string& fitted() const noexcept { return fitted_; }
  const std::vector<Unsourced>& unsourced() const noexcept { return unsourced_; }
  const Mutant& mutant() const noexcept { return mutant_; }

 private:
  std::string id_;
  Statement statement_;
  Criterion criterion_;
  Interval interval_;
  std::string fitted_;
  std::vector<Unsourced> unsourced_;
  Mutant mutant_;
};

}  // namespace substrata::papers
