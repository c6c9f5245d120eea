#pragma once
// Numbers and reasons as experiments write them.

#include <string>

#include "lazydp/bench/paper/measurer.h"
#include "lazydp/report/number_text.h"

namespace lazydp::paper {

inline std::string times_text(double factor) {  // 2.03x, 119x, 1,081x
  return (factor < 20 ? fixed(factor, 2) : with_commas(factor)) + "x";
}

inline std::string percent(double share) {
  return fixed(100.0 * share, 1) + " %";
}

inline std::string size_text(double bytes) {
  return human_bytes(bytes);
}

// A number for a file: six digits that count.
inline std::string cell(double value) {
  return value == value ? shortest(value) : "";
}

inline std::string gigabytes_text(const Measurement& at) {
  return "at " + human_bytes(at.table_bytes());
}

// The line below a picture's title.
inline std::string how(const Measurement& m, const std::string& models) {
  return models + ", batch " + with_commas(static_cast<double>(m.options.batch)) + ", median of " +
         std::to_string(m.options.rounds) + " interleaved steps";
}
inline std::string how(const Measurement& m) {
  return how(m, m.options.model.shape.name);
}

}  // namespace lazydp::paper
