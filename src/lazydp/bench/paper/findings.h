#pragma once
// The findings of an experiment: numbers, charts, and comparisons with the paper's numbers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/base/text/number_text.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {

// The way in which a number was obtained. Files and charts state it for every number.
enum class Standing : std::uint8_t {
  measured,
  counted,        // exact, and the same on every machine
  extrapolated,   // from measured ones, by a law that is named
  out_of_memory,  // does not fit; the number is the bytes that it would need
  not_measured,   // left out, for a reason that is named
};

std::string_view name_of(Standing standing);

using Cells = std::vector<std::string>;

// Numbers for machines: each row is one number, or a few that belong together.
struct Sheet {
  Cells columns = {};
  std::vector<Cells> rows = {};

  void add(Cells row);  // one cell for each column
};

std::string csv_of(const Sheet& sheet);  // RFC 4180

// A number of the paper beside the one measured here.
struct Comparison {
  std::string what;
  std::string paper;
  std::string ours;
  std::string because;  // why they differ, or what the measured number stands for
};

struct Picture {
  std::string name;  // suffix of its file's name; may be empty
  std::string svg;
};

struct Findings {
  Sheet sheet;
  std::vector<Picture> pictures;
  std::vector<Comparison> comparisons;
  std::vector<std::string> notes;
};

inline std::string times_text(double factor) {  // 2.03x, 119x, 1,081x
  return (factor < 20 ? fixed(factor, 2) : with_commas(factor)) + "x";
}

inline std::string percent(double share) {
  return fixed(100.0 * share, 1) + " %";
}

inline std::string size_text(double bytes) {
  return human_bytes(bytes);
}

// Returns a number for a file: six significant digits.
inline std::string cell(double value) {
  return value == value ? shortest(value) : "";
}

inline std::string gigabytes_text(const Measurement& at) {
  return "at " + human_bytes(at.table_bytes());
}

// Returns the line below a chart's title.
inline std::string how(const Measurement& m, const std::string& models) {
  return models + ", batch " + with_commas(static_cast<double>(m.options.batch)) + ", median of " +
         std::to_string(m.options.rounds) + " interleaved steps";
}
inline std::string how(const Measurement& m) {
  return how(m, m.options.model.shape.name);
}

// Returns a chart with a series for each name, without bars and groups.
BarChart empty_bars(const std::string& title, const std::string& note, const std::string& unit,
                    const std::vector<std::string>& series,
                    ChartAxis::Scale scale = ChartAxis::Scale::linear,
                    BarChart::Kind kind = BarChart::Kind::beside);

LineChart empty_lines(const std::string& title, const std::string& note, const std::string& x,
                      const std::string& y);

}  // namespace lazydp::paper
