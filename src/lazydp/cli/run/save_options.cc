#include "lazydp/cli/run/save_options.h"

#include <array>
#include <string_view>
#include <utility>

#include "lazydp/cli/parse_value.h"
#include "lazydp/random/cell.h"

namespace lazydp::cli {
namespace {

// "500" steps, or a time: 30s, 10m, 2h.
void choose_cadence(const std::string& text, Keeping& keeping) {
  constexpr std::array<std::pair<char, double>, 3> kUnits = {
      {{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (text.empty() || text.back() != unit) continue;
    const auto count = number(std::string_view(text).substr(0, text.size() - 1));
    if (!count || !(*count > 0.0)) break;
    keeping.every_seconds = *count * seconds;
    return;
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    refuse("checkpoint-every", text, "a number of steps (500) or a time (30s, 10m, 2h)");
  }
  keeping.every_steps = static_cast<Step>(whole_number("checkpoint-every", text, 1, kLastStep));
}

}  // namespace

Keeping choose_keeping(const Given& given) {
  Keeping keeping;
  if (given.checkpoint_every) choose_cadence(*given.checkpoint_every, keeping);
  if (given.no_release) keeping.release = !truth("no-release", *given.no_release);
  if (given.private_metrics) {
    constexpr std::array<std::pair<std::string_view, bool>, 2> kOnOff = {
        {{"off", false}, {"on", true}}};
    keeping.metrics_on_card = choice("private-metrics", *given.private_metrics, kOnOff);
  }
  const auto needs_out = [&given](const Text& text, const char* name) {
    if (!text || given.out) return;
    throw UserError(std::string(name) + " is '" + *text + "', but there is no --out folder for it");
  };
  needs_out(given.checkpoint_every, "checkpoint-every");
  needs_out(given.no_release, "no-release");
  needs_out(given.private_metrics, "private-metrics");
  needs_out(given.key_file, "key-file");
  return keeping;
}

}  // namespace lazydp::cli
