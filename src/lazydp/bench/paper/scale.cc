#include "lazydp/bench/paper/scale.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lazydp/base/memory.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/model/shape.h"
#include "lazydp/report/number_text.h"

namespace lazydp::paper {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kShareOfMemory = 0.75;  // the rest: histories, activations, DP-SGD(B)'s gradients

constexpr std::array kPaperSizes = {24e9, 48e9, 96e9, 192e9};

constexpr Effort kSmoke = {.name = "smoke",
                           .table_bytes = 4e6,
                           .far_bytes = {8e6, 12e6, 16e6, 24e6},
                           .batches = {8, 16, 32},
                           .rounds = 2,
                           .warmup = 1,
                           .audit_runs = 400,
                           .leak_steps = 5,
                           .vector_floats = std::size_t{1} << 20,
                           .law_rows = 400};
constexpr Effort kQuick = {.name = "quick",
                           .table_bytes = 1 * kGigabyte,
                           .far_bytes = kPaperSizes,
                           .batches = {1024, 2048, 4096},
                           .rounds = 5,
                           .warmup = 1,
                           .audit_runs = 20'000,
                           .leak_steps = 20,
                           .vector_floats = std::size_t{1} << 26,
                           .law_rows = 20'000};
constexpr Effort kFull = {.name = "full",
                          .table_bytes = 0.0,
                          .far_bytes = kPaperSizes,
                          .batches = {1024, 2048, 4096},
                          .rounds = 15,
                          .warmup = 3,
                          .audit_runs = 20'000,
                          .leak_steps = 100,
                          .vector_floats = std::size_t{1} << 28,
                          .law_rows = 100'000};

bool said(const Text& given, std::string_view name) {
  return given && truth(name, *given);
}

}  // namespace

Effort choose_effort(const Given& given) {
  const bool smoke = said(given.smoke, "smoke");
  const bool quick = said(given.quick, "quick");
  if (smoke && quick) throw UserError("--smoke and --quick are both given; choose one of them");
  Effort effort = smoke ? kSmoke : quick ? kQuick : kFull;
  const auto available = static_cast<double>(available_memory());
  const auto whole = static_cast<double>(named_shape("mlperf").table_bytes());
  const double most = std::min(kShareOfMemory * available, whole);
  if (effort.table_bytes == 0.0) effort.table_bytes = most;
  if (given.max_table_gb) {
    effort.table_bytes = positive("max-table-gb", *given.max_table_gb) * kGigabyte;
  }
  if (effort.table_bytes > most) {
    throw UserError("the tables would take " + human_bytes(effort.table_bytes) + ", and " +
                    human_bytes(available) + " of memory are available; use --max-table-gb " +
                    shortest(std::max(0.001, 0.001 * std::floor(most / 1e6))) + " or less");
  }
  return effort;
}

}  // namespace lazydp::paper
