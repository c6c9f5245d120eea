#include "lazydp/bench/paper/empty_chart.h"

namespace lazydp::paper {

BarChart empty_bars(const std::string& title, const std::string& note, const std::string& unit,
                    const std::vector<std::string>& series, ChartAxis::Scale scale,
                    BarChart::Kind kind) {
  BarChart chart;
  chart.head.title = title;
  chart.head.note = note;
  chart.y.name = unit;
  chart.y.scale = scale;
  chart.kind = kind;
  chart.series.resize(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) chart.series[i].name = series[i];
  return chart;
}

LineChart empty_lines(const std::string& title, const std::string& note, const std::string& x,
                      const std::string& y) {
  LineChart chart;
  chart.head.title = title;
  chart.head.note = note;
  chart.x.name = x;
  chart.y.name = y;
  return chart;
}

}  // namespace lazydp::paper
