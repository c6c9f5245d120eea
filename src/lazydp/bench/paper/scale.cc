#include "lazydp/bench/paper/scale.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/model/shape.h"

namespace lazydp::paper {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kShareOfMemory = 0.75;  // the rest: histories, activations, DP-SGD(B)'s gradients

constexpr std::array kPaperSizes = {24e9, 48e9, 96e9, 192e9};

constexpr Scale kSmoke = {.name = "smoke",
                          .table_bytes = 4e6,
                          .far_bytes = {8e6, 12e6, 16e6, 24e6},
                          .batches = {8, 16, 32},
                          .rounds = 2,
                          .warmup = 1,
                          .audit_runs = 400,
                          .leak_steps = 5,
                          .vector_floats = std::size_t{1} << 20,
                          .law_rows = 400};
constexpr Scale kQuick = {.name = "quick",
                          .table_bytes = 1 * kGigabyte,
                          .far_bytes = kPaperSizes,
                          .batches = {1024, 2048, 4096},
                          .rounds = 5,
                          .warmup = 1,
                          .audit_runs = 20'000,
                          .leak_steps = 20,
                          .vector_floats = std::size_t{1} << 26,
                          .law_rows = 20'000};
constexpr Scale kFull = {.name = "full",
                         .table_bytes = 0.0,
                         .far_bytes = kPaperSizes,
                         .batches = {1024, 2048, 4096},
                         .rounds = 15,
                         .warmup = 3,
                         .audit_runs = 20'000,
                         .leak_steps = 100,
                         .vector_floats = std::size_t{1} << 28,
                         .law_rows = 100'000};

}  // namespace

Scale scale_of(ScaleName name, std::optional<double> table_bytes) {
  Scale scale = name == ScaleName::smoke ? kSmoke : name == ScaleName::quick ? kQuick : kFull;
  const auto available = static_cast<double>(available_memory());
  const auto whole = static_cast<double>(named_shape("mlperf").table_bytes());
  const double most = std::min(kShareOfMemory * available, whole);
  if (scale.table_bytes == 0.0) scale.table_bytes = most;
  if (table_bytes) scale.table_bytes = *table_bytes;
  if (scale.table_bytes > most) {
    throw UserError("the tables would take " + human_bytes(scale.table_bytes) + ", and " +
                    human_bytes(available) + " of memory are available; use --max-table-gb " +
                    shortest(std::max(0.001, 0.001 * std::floor(most / 1e6))) + " or less");
  }
  return scale;
}

}  // namespace lazydp::paper
