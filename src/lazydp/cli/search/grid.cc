#include "lazydp/cli/search/grid.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/cli/config.h"

namespace lazydp::cli {
namespace {

constexpr std::size_t kMostRuns = 100'000;

// Returns the flags that decide the numbers of a run without a folder.
std::vector<Flag> flags_of_a_run() {
  std::vector<Flag> flags;
  std::ranges::copy_if(all_flags(), std::back_inserter(flags), [](const Flag& flag) {
    return (flag.verbs & train_flags) != 0 && flag.kept && flag.group != "Files";
  });
  return flags;
}

const Flag* lasting(std::string_view name) {
  return std::ranges::find(all_flags(), name, &Flag::name).base();
}

}  // namespace

Grid read_grid(const std::string& path) {
  const std::vector<Flag> allowed = flags_of_a_run();
  std::vector<Setting> settings = read_settings(path, allowed);
  std::ranges::sort(settings, {}, [](const Setting& setting) { return lasting(setting.flag); });
  Grid grid{.flags = {}, .points = {{}}};
  for (const Setting& setting : settings) {
    grid.flags.push_back(lasting(setting.flag));
    std::vector<GridPoint> longer;
    for (const GridPoint& point : grid.points) {
      for (const std::string& value : setting.values) {
        longer.push_back(point);
        longer.back().values.push_back(value);
        longer.back().given.*(grid.flags.back()->value) = value;
      }
    }
    if (longer.size() > kMostRuns) {
      throw UserError(path + " asks for more than " + std::to_string(kMostRuns) + " runs");
    }
    grid.points = std::move(longer);
  }
  return grid;
}

}  // namespace lazydp::cli
