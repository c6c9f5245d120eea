#pragma once
// What an experiment found: numbers, pictures, and lines that set ours beside the paper's.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lazydp::paper {

// How a number came about. Files and pictures say it of every number.
enum class Standing : std::uint8_t {
  measured,
  counted,        // exact, and the same on every machine
  extrapolated,   // from measured ones, by a law that is named
  out_of_memory,  // it does not fit; the number is the bytes that it would need
  not_measured,   // left out, for a reason that is named
};

std::string_view name_of(Standing standing);

using Cells = std::vector<std::string>;

// Numbers for machines: one row a number or a few that belong together.
struct Sheet {
  Cells columns = {};
  std::vector<Cells> rows = {};

  void add(Cells row);  // as many as there are columns
};

std::string csv_of(const Sheet& sheet);  // RFC 4180

// A number of the paper beside ours.
struct Comparison {
  std::string what;
  std::string paper;
  std::string ours;
  std::string because;  // why they differ, or what ours stands for
};

struct Picture {
  std::string name;  // of its file, after the experiment's; may be empty
  std::string svg;
};

struct Findings {
  Sheet sheet;
  std::vector<Picture> pictures;
  std::vector<Comparison> comparisons;
  std::vector<std::string> notes;
};

}  // namespace lazydp::paper
