#pragma once
// A picture with its words, before it has numbers.

#include <string>
#include <vector>

#include "lazydp/report/chart.h"

namespace lazydp::paper {

// A series for each name, without bars and groups.
BarChart empty_bars(const std::string& title, const std::string& note, const std::string& unit,
                    const std::vector<std::string>& series,
                    ChartAxis::Scale scale = ChartAxis::Scale::linear,
                    BarChart::Kind kind = BarChart::Kind::beside);

LineChart empty_lines(const std::string& title, const std::string& note, const std::string& x,
                      const std::string& y);

}  // namespace lazydp::paper
