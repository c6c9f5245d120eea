#include "lazydp/train/schedule.h"

#include <charconv>
#include <cmath>
#include <numbers>

#include "lazydp/base/error.h"
#include "lazydp/base/text/toml.h"

namespace lazydp {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw UserError("schedule '" + std::string(text) +
                  "' is not one of constant, linear, poly:POWER, cosine, step:EVERY:FACTOR, each "
                  "optionally after warmup:STEPS, (for example warmup:100,linear)");
}

// Takes a number from the front of `rest`, and the `separator` after it unless that is '\0'.
template <class T>
bool take(std::string_view& rest, T& value, char separator = '\0') {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (separator == '\0') return true;
  if (rest.empty() || rest[0] != separator) return false;
  rest.remove_prefix(1);
  return true;
}

bool skip(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return false;
  rest.remove_prefix(prefix.size());
  return true;
}

}  // namespace

double Schedule::factor(Step t, Step steps) const {
  if (t <= warmup) return static_cast<double>(t) / warmup;
  const Step past = t - warmup - 1;
  const double progress = steps > warmup ? static_cast<double>(past) / (steps - warmup) : 0.0;
  switch (shape) {
    case Shape::constant: return 1.0;
    case Shape::polynomial: return std::pow(1.0 - progress, power);
    case Shape::cosine: return 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    case Shape::step: return std::pow(decay, past / every);
  }
  throw InternalError("unknown Schedule::Shape");
}

Schedule Schedule::parse(std::string_view text) {
  Schedule s;
  std::string_view rest = text;
  if (skip(rest, "warmup:") && (!take(rest, s.warmup, ',') || s.warmup == 0)) refuse(text);
  if (skip(rest, "constant")) {
    s.shape = Shape::constant;
  } else if (skip(rest, "linear")) {
    s.shape = Shape::polynomial;
  } else if (skip(rest, "cosine")) {
    s.shape = Shape::cosine;
  } else if (skip(rest, "poly:")) {
    s.shape = Shape::polynomial;
    if (!take(rest, s.power) || !(s.power > 0.0) || !std::isfinite(s.power)) refuse(text);
  } else if (skip(rest, "step:")) {
    s.shape = Shape::step;
    if (!take(rest, s.every, ':') || s.every == 0) refuse(text);
    if (!take(rest, s.decay) || !(s.decay > 0.0 && s.decay <= 1.0)) refuse(text);
  } else {
    refuse(text);
  }
  if (!rest.empty()) refuse(text);
  return s;
}

std::string Schedule::text() const {
  const std::string before = warmup > 0 ? "warmup:" + std::to_string(warmup) + "," : "";
  switch (shape) {
    case Shape::constant: return before + "constant";
    case Shape::polynomial: return before + "poly:" + exact_text(power);
    case Shape::cosine: return before + "cosine";
    case Shape::step: return before + "step:" + std::to_string(every) + ":" + exact_text(decay);
  }
  throw InternalError("unknown Schedule::Shape");
}

}  // namespace lazydp
