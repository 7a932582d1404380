// Formulas of derived events against values worked out by hand.
#include "core/events/derived.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <vector>

namespace {

using namespace substrata;

int64_t value_of(DerivedKind kind, const char* text, std::initializer_list<int64_t> terms, double hz = 0) {
  const Result<Formula> formula = Formula::make(kind, text, static_cast<uint32_t>(terms.size()));
  EXPECT_TRUE(formula.has_value()) << text;
  if (!formula) return 0;
  uint16_t positions[12];
  for (uint16_t i = 0; i < 12; ++i) positions[i] = i;
  return formula->evaluate(terms.begin(), positions, hz);
}

TEST(Derived, KindsComputeWhatTheirNamesSay) {
  EXPECT_EQ(value_of(DerivedKind::kNone, "", {7}), 7);
  EXPECT_EQ(value_of(DerivedKind::kAdd, "", {7, 5, 1}), 13);
  EXPECT_EQ(value_of(DerivedKind::kSub, "", {7, 5, 1}), 1);
  EXPECT_EQ(value_of(DerivedKind::kCompound, "", {7, 5}), 7);
  EXPECT_EQ(value_of(DerivedKind::kPerSecond, "", {2000, 50}, 1e6), 25'000);
  EXPECT_EQ(value_of(DerivedKind::kAddPerSecond, "", {2000, 20, 30}, 1e6), 25'000);
  EXPECT_EQ(value_of(DerivedKind::kPerSecond, "", {0, 50}, 1e6), 0) << "no cycles, no rate";
}

TEST(Derived, PostfixAndInfixFormulas) {
  EXPECT_EQ(value_of(DerivedKind::kPostfix, "N0|N1|+|N2|-|N3|-|", {10, 20, 3, 4}), 23);
  EXPECT_EQ(value_of(DerivedKind::kPostfix, "N0|2|*|N1|4|*|+", {10, 20}), 100);
  EXPECT_EQ(value_of(DerivedKind::kInfix, "(N0 + N1) * 2 - N0 / N1", {10, 5}), 28);
  EXPECT_EQ(value_of(DerivedKind::kInfix, "N0-N1-N1", {10, 3}), 4) << "from left to right";
  EXPECT_EQ(value_of(DerivedKind::kInfix, "N0/N1", {10, 0}), 0) << "division by nothing";
  EXPECT_EQ(value_of(DerivedKind::kInfix, "N0*1e300*1e300", {10}), std::numeric_limits<int64_t>::max());
}

TEST(Derived, TheClocksRateIsWrittenAsInPapisTables) {
  EXPECT_EQ(value_of(DerivedKind::kPostfix, "N0|#|*|N1|/|", {50, 2000}, 1e6), 25'000);
  EXPECT_EQ(value_of(DerivedKind::kInfix, "N0*#/N1", {50, 2000}, 1e6), 25'000);
  EXPECT_TRUE(Formula::make(DerivedKind::kPostfix, "N0|#|*|", 1).value_or(Formula()).per_second());
  EXPECT_FALSE(Formula::make(DerivedKind::kPostfix, "N0|N1|%|", 2).has_value()) << "nor can PAPI";
}

TEST(Derived, EveryKindCanBeWrittenAsPostfix) {
  const auto postfix = [](DerivedKind kind, const char* text, uint32_t terms) {
    return Formula::make(kind, text, terms).value_or(Formula()).postfix();
  };
  EXPECT_EQ(postfix(DerivedKind::kInfix, "(N0 + N1) * 2.5 / #", 2), "N0|N1|+|2.5|*|#|/|");
  EXPECT_EQ(postfix(DerivedKind::kPostfix, "N0|N1|-", 2), "N0|N1|-|");
  EXPECT_EQ(postfix(DerivedKind::kSub, "", 3), "N0|N1|-|N2|-|");
  EXPECT_EQ(postfix(DerivedKind::kPerSecond, "", 2), "N1|N0|/|#|*|");
}

TEST(Derived, AFormulaOfFormulasIsComputedFromTheirTerms) {
  const auto made = [](DerivedKind kind, const char* text, uint32_t terms) {
    return Formula::make(kind, text, terms).value_or(Formula());
  };
  const auto value = [](const Formula& outer, const std::vector<Formula>& parts,
                        std::initializer_list<int64_t> terms, double hz = 0) {
    const Result<Formula> composed = Formula::compose(outer, parts);
    EXPECT_TRUE(composed.has_value());
    if (!composed) return int64_t{-1};
    EXPECT_EQ(composed->term_count(), terms.size());
    uint16_t positions[12];
    for (uint16_t i = 0; i < 12; ++i) positions[i] = i;
    return composed->evaluate(terms.begin(), positions, hz);
  };
  const Formula plain = made(DerivedKind::kNone, "", 1), add = made(DerivedKind::kAdd, "", 2),
                sub = made(DerivedKind::kSub, "", 2), rate = made(DerivedKind::kPerSecond, "", 2),
                twice = made(DerivedKind::kInfix, "N0*2", 1);
  EXPECT_EQ(value(sub, {add, sub}, {10, 5, 7, 3}), 11);
  EXPECT_EQ(value(twice, {sub}, {10, 4}), 12);
  EXPECT_EQ(value(made(DerivedKind::kPostfix, "N1|N0|/|", 2), {twice, add}, {5, 30, 20}), 5);
  EXPECT_EQ(value(add, {rate, plain}, {2000, 50, 1}, 1e6), 25'001);
  EXPECT_EQ(value(rate, {add, plain}, {1000, 1000, 50}, 1e6), 25'000);
  EXPECT_EQ(value(rate, {add, plain}, {0, 0, 50}, 1e6), 0) << "no cycles, no rate";
  constexpr int64_t kLarge = (int64_t{1} << 60) + 1;
  EXPECT_EQ(value(add, {add, plain}, {kLarge, 1, 1}), kLarge + 2) << "a sum of sums is exact";
  EXPECT_EQ(value(plain, {sub}, {kLarge, 1}), kLarge - 1);
  EXPECT_TRUE(Formula::compose(add, {rate, plain})->per_second());
  EXPECT_FALSE(Formula::compose(add, {sub, plain})->per_second());
  const std::vector<Formula> many(12, made(DerivedKind::kSub, "", 12));
  EXPECT_EQ(Formula::compose(made(DerivedKind::kAdd, "", 12), many).error().code, Code::kCombination);
}

TEST(Derived, WrongFormulasAreRefusedWithTheirPlace) {
  for (const char* bad :
       {"", "N0|", "N0|N1|", "+|", "N0|N9|+|", "N0|N1|%|", "N|", "N0 N1 +", "N0|-1e999|+|"}) {
    if (std::string(bad) == "N0|") {
      EXPECT_TRUE(Formula::make(DerivedKind::kPostfix, bad, 2).has_value());
      continue;
    }
    const Result<Formula> formula = Formula::make(DerivedKind::kPostfix, bad, 2);
    EXPECT_EQ(formula.error().code, Code::kInvalid) << bad;
  }
  for (const char* bad : {"", "(N0", "N0)", "N0+", "N0 N1", "N2", "1..2"})
    EXPECT_EQ(Formula::make(DerivedKind::kInfix, bad, 2).error().code, Code::kInvalid) << bad;
  EXPECT_EQ(Formula::make(DerivedKind::kInfix, std::string(1000, '('), 1).error().code, Code::kInvalid);
  std::string longer = "N0";
  for (int i = 0; i < 500; ++i) longer += "+N0";
  EXPECT_EQ(Formula::make(DerivedKind::kInfix, longer, 1).error().code, Code::kInvalid);
  EXPECT_EQ(Formula::make(DerivedKind::kAdd, "", 0).error().code, Code::kInvalid);
  EXPECT_EQ(Formula::make(DerivedKind::kAdd, "", 13).error().code, Code::kInvalid);
  EXPECT_EQ(Formula::make(DerivedKind::kNone, "", 2).error().code, Code::kInvalid);
  EXPECT_EQ(parse_derived_kind("DERIVED").error().code, Code::kInvalid);
  EXPECT_EQ(*parse_derived_kind("DERIVED_SUB"), DerivedKind::kSub);
}

TEST(Derived, SumsWrapRoundInsteadOfOverflowing) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(value_of(DerivedKind::kAdd, "", {most, 1}), std::numeric_limits<int64_t>::min());
}

}  // namespace
