// Charts show the numbers they are given.

#include "lazydp/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "lazydp/report/chart_canvas.h"
#include "lazydp/report/html_page.h"

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Every match's first group.
std::vector<std::string> all(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), expression);
       it != std::sregex_iterator(); ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

std::vector<double> numbers(const std::string& text) {
  std::vector<double> values;
  for (const std::string& word : all(text, "(-?[0-9.]+)")) values.push_back(std::stod(word));
  return values;
}

TEST(Chart, PutsValuesWhereTheyBelong) {
  const ChartAxis linear{.name = "loss"};
  ChartRange range(linear);
  for (const double value : {4.0, 10.0, kInfinity, kNotThere}) range.include(value);
  const PlacedAxis axis(linear, range, 100, 300);
  EXPECT_DOUBLE_EQ(axis.place(0), 100);  // it begins at zero
  EXPECT_DOUBLE_EQ(axis.place(4), 180);
  EXPECT_DOUBLE_EQ(axis.place(10), 300);
  EXPECT_EQ(axis.ticks(), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(tick_text(axis.ticks()[0]), "0");

  const ChartAxis logarithmic{.scale = ChartAxis::Scale::logarithmic};
  ChartRange wide(logarithmic);
  for (const double value : {0.0, -1.0, 1.1, 1000.0 / 1.1}) wide.include(value);  // room of 1.1
  const PlacedAxis scale(logarithmic, wide, 0, 300);
  EXPECT_NEAR(scale.place(10), 100, 1e-9);
  EXPECT_NEAR(scale.place(100), 200, 1e-9);
  EXPECT_EQ(scale.ticks(), (std::vector<double>{1, 10, 100, 1000}));

  const ChartAxis close{.from_zero = false};
  ChartRange near(close);
  near.include(0.74);
  near.include(0.78);
  EXPECT_DOUBLE_EQ(PlacedAxis(close, near, 0, 1).place(0.74), 0);
  EXPECT_DOUBLE_EQ(PlacedAxis(close, near, 0, 1).place(0.76), 0.5);
}

// The line's points, read back from the picture.
TEST(Chart, DrawsALineThroughThePointsThatAreThere) {
  const std::string svg =
      svg_of(LineChart{.x = {.name = "steps"},
                       .y = {.name = "AUC"},
                       .lines = {{"one", {{0, 0}, {5, 1}, {6, kInfinity}, {10, 2}}}}});
  const auto drawn = all(svg, "<polyline[^>]*points=\"([^\"]*)\"");
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(numbers(drawn[0]), (std::vector<double>{72, 396, 346, 244, 620, 92}));
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

// A value far above the others neither flattens them nor leaves the frame.
TEST(Chart, EndsAnAxisWhereItIsTold) {
  const std::string svg = svg_of(LineChart{.x = {.name = "steps"},
                                           .y = {.name = "loss", .shows = {1}, .at_most = 2},
                                           .lines = {{"one", {{0, 1}, {5, 1000}, {10, 1}}}}});
  const auto drawn = all(svg, "<polyline[^>]*points=\"([^\"]*)\"");
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(numbers(drawn[0]), (std::vector<double>{72, 244, 346, 92, 620, 244}));
}

TEST(Chart, ShowsTheValuesThatAnAxisMustReach) {
  const std::string svg =
      svg_of(LineChart{.x = {.name = "steps"},
                       .y = {.name = "AUC", .from_zero = false, .shows = {0.5, 1.0}},
                       .lines = {{"one", {{0, 0.75}, {10, 0.75}}}}});
  const auto drawn = all(svg, "<polyline[^>]*points=\"([^\"]*)\"");
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(numbers(drawn[0]), (std::vector<double>{72, 244, 620, 244}));
}

TEST(Chart, StacksBarsOnEachOther) {
  const std::string svg =
      svg_of(BarChart{.groups = {"sgd", "lazydp"},
                      .y = {.name = "ms"},
                      .series = {{"forward", {{1}, {1}}}, {"noise", {{0}, {3}}}},
                      .kind = BarChart::Kind::stacked});
  const auto tops = all(svg, "<rect x=[^>]* y=\"([0-9.]+)\"");
  const auto heights = all(svg, "<rect x=[^>]* height=\"([0-9.]+)\"");
  ASSERT_EQ(tops.size(), 4u);
  EXPECT_DOUBLE_EQ(std::stod(tops[2]), 320);  // a quarter of 304 above 396
  EXPECT_DOUBLE_EQ(std::stod(heights[2]), 76);
  EXPECT_DOUBLE_EQ(std::stod(tops[3]), 92);  // on top of it
  EXPECT_DOUBLE_EQ(std::stod(heights[3]), 228);
}

TEST(Chart, DrawsWhatWasNotMeasuredApart) {
  const std::string svg = svg_of(BarChart{
      .groups = {"here", "there", "nowhere"},
      .y = {.name = "ms"},
      .series = {
          {"dpsgd-f",
           {{.value = 1}, {.value = 2, .extrapolated = true}, {.note = "out of memory: 97 GB"}}}}});
  const auto bars = all(svg, "(<rect x=[^>]*>)");
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_EQ(bars[0].find("stroke-dasharray"), std::string::npos);
  EXPECT_NE(bars[1].find("stroke-dasharray"), std::string::npos);
  EXPECT_NE(svg.find("dpsgd-f: 2 (extrapolated)"), std::string::npos);
  EXPECT_NE(svg.find(">out of memory: 97 GB<"), std::string::npos);
}

TEST(Chart, KeepsNamesApartAndInsideThePicture) {
  LineChart chart{.x = {.name = "x"}, .y = {.name = "y"}};
  for (int i = 0; i < 7; ++i) {
    chart.lines.push_back({"line" + std::to_string(i), {{0, 0}, {1, i < 4 ? 1.0 : 0.0}}});
  }
  std::vector<double> heights;
  for (const std::string& y : all(svg_of(chart), "y=\"([0-9.]+)\"[^>]*>line")) {
    heights.push_back(std::stod(y));
  }
  ASSERT_EQ(heights.size(), 7u);
  std::ranges::sort(heights);
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 17.9);
  EXPECT_GE(heights.front(), 70);
  EXPECT_LE(heights.back(), 410);
}

TEST(Chart, SlantsNamesOfBarsThatWouldTouch) {
  BarChart chart{.groups = {"B 96M", "R 96M"}, .y = {.name = "ms"}, .series = {{"s", {{1}, {2}}}}};
  EXPECT_EQ(svg_of(chart).find("rotate"), std::string::npos);
  while (chart.groups.size() < 16) chart.groups.emplace_back("F 961M");
  EXPECT_EQ(all(svg_of(chart), "(rotate)[^>]*>[BRF] ").size(), 16u);
}

TEST(Chart, WritesLargeTicksShort) {
  EXPECT_EQ(tick_text(500'000), "500,000");
  EXPECT_EQ(tick_text(5'000'000), "5 M");
  EXPECT_EQ(tick_text(2.5e6), "2.5 M");
  EXPECT_EQ(tick_text(2e10), "2e+10");
}

TEST(Chart, HasSomethingToShowForNothing) {
  for (const std::string& svg :
       {svg_of(LineChart{}), svg_of(BarChart{}), svg_of(LineChart{.lines = {{"none", {}}}})}) {
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

// Names may come from files: nothing of them becomes markup.
TEST(HtmlPage, StandsAloneAndEscapesWhatItIsGiven) {
  const std::string hostile = "<script src=\"http://elsewhere\">&";
  const std::string page = HtmlPage(hostile, "sub")
                               .heading(hostile)
                               .paragraph(hostile)
                               .table({{"a", hostile}, {hostile, "b"}})
                               .picture(svg_of(LineChart{.head = {.title = hostile}}))
                               .warning(hostile)
                               .finish();
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script src=&quot;http://elsewhere&quot;&gt;&amp;"), std::string::npos);
  for (const char* outside : {"href=", "src=\"", "url(", "@import", "<link", "<img"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(all(page, "(<div)").size(), all(page, "(</div>)").size());
}

}  // namespace
}  // namespace lazydp
