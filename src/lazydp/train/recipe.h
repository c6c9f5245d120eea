#pragma once
// The seven training algorithms, each a pair: how to clip x when to add noise.

#include <array>
#include <string>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/noise/policies.h"

namespace lazydp {

struct Recipe {
  std::string_view name;
  ClipMethod clip;
  NoisePolicy noise;
  std::string_view no_claim;  // why its models carry no privacy claim; empty for those that may

  bool clips() const { return clip != ClipMethod::none; }
  bool writes_every_row() const { return traits_of(noise).writes_every_row; }  // at every step
};

inline constexpr std::array kRecipes = {
    Recipe{"sgd", ClipMethod::none, NoisePolicy::none, "SGD adds no noise"},
    Recipe{"dpsgd-b", ClipMethod::materialize, NoisePolicy::every_row, ""},
    Recipe{"dpsgd-r", ClipMethod::reweight, NoisePolicy::every_row, ""},
    Recipe{"dpsgd-f", ClipMethod::ghost, NoisePolicy::every_row, ""},
    Recipe{"eana", ClipMethod::ghost, NoisePolicy::touched_rows,
           "EANA adds no noise to rows that no example used, which shows who was not there"},
    Recipe{"lazydp-no-ans", ClipMethod::ghost, NoisePolicy::lazy_each_step, ""},
    Recipe{"lazydp", ClipMethod::ghost, NoisePolicy::lazy_aggregated, ""},
};

inline const Recipe& recipe(std::string_view name) {
  std::string known;
  for (const Recipe& r : kRecipes) {
    if (r.name == name) return r;
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("unknown algorithm '" + std::string(name) + "'; it must be one of " + known);
}

}  // namespace lazydp
