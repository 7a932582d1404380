// Figures: what is drawn is where its values say.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "papers/plot.hpp"

namespace substrata::papers {
namespace {

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Heights of the bars, and ordinates of the line.
std::vector<double> numbers(const std::string& text, const std::string& pattern) {
  std::vector<double> found;
  const std::regex wanted(pattern);
  for (std::sregex_iterator one(text.begin(), text.end(), wanted), end; one != end; ++one)
    found.push_back(std::stod((*one)[1]));
  return found;
}

TEST(Plot, BarsAreAsHighAsTheirValues) {
  std::ostringstream out;
  write_panels(out, "bars",
               {panel("", {"x"}, {"y", false, 0},
                      {{.name = {}, .points = {{0, 10}, {1, 40}, {2, 20}}, .style = Series::Style::kBars}})},
               1);
  const std::vector<double> heights = numbers(out.str(), "height=\"([0-9.]+)\" fill=\"#1f5fa8\"");
  ASSERT_EQ(heights.size(), 3u);
  EXPECT_NEAR(heights[1] / heights[0], 4, 0.05);
  EXPECT_NEAR(heights[2] / heights[0], 2, 0.05);
}

TEST(Plot, DotsAreNotJoined) {
  std::ostringstream out;
  write_panels(out, "dots",
               {panel("", {"x"}, {"y", false, 0},
                      {{.name = {}, .points = {{0, 10}, {1, 40}, {2, 20}}, .style = Series::Style::kDots}})},
               1);
  EXPECT_EQ(times(out.str(), "<circle"), 3u);
  EXPECT_EQ(times(out.str(), "<polyline"), 0u);
}

TEST(Plot, DecadesAreAsFarApartOnALogarithmicAxis) {
  std::ostringstream out;
  write_panels(out, "line", {panel("", {"x", true}, {"y", false, 0}, {{"one", {{1, 5}, {10, 5}, {100, 5}}}})},
               1);
  const std::vector<double> places = numbers(out.str(), "circle cx=\"([0-9.]+)\"");
  ASSERT_EQ(places.size(), 3u);
  EXPECT_NEAR(places[1] - places[0], places[2] - places[1], 0.2);
}

TEST(Plot, APanelWithoutPointsSaysSo) {
  std::ostringstream out;
  write_panels(out, "empty", {panel("", {"x"}, {"y"}, {{"one", {}}})}, 1);
  EXPECT_NE(out.str().find("nothing was counted"), std::string::npos);
}

TEST(Plot, TextIsEscaped) {
  std::ostringstream out;
  write_panels(out, "a < b & c", {panel("", {"x"}, {"y"}, {{"one", {{1, 1}}}})}, 1);
  EXPECT_NE(out.str().find("a &lt; b &amp; c"), std::string::npos);
}

TEST(Plot, EveryCountThatIsNotZeroIsABlockOfThreeFacesAndACellOfTheMap) {
  Field field{.x = {"x"}, .y = {"y"}, .count = "packets", .at = {{0, 3, 0}, {7, 0, 1}}};
  std::ostringstream blocks, map;
  write_blocks(blocks, "blocks", field);
  write_map(map, "map", field);
  EXPECT_EQ(times(blocks.str(), "stroke=\"#24507f\""), 9u);
  EXPECT_EQ(times(map.str(), "<title>"), 3u);
  EXPECT_NE(map.str().find("rgb(16,60,130)"), std::string::npos) << "the highest is darkest";
}

}  // namespace
}  // namespace substrata::papers
