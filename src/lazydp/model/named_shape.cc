// The models of the paper's experiments, and a small one to try things with.

#include <array>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/model/shape.h"

namespace lazydp {
namespace {

ModelShape mlperf() {
  return {.name = "mlperf",
          .table_rows = {39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
                         38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
                         14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36},
          .dim = 128,
          .bottom = {13, 512, 256, 128},
          .top = {1024, 1024, 512, 256, 1},
          .pooling = 1};
}

ModelShape rmc1() {
  return {.name = "rmc1",
          .table_rows = std::vector<RowId>(10, 75'000'000),
          .dim = 32,
          .bottom = {13, 256, 128, 32},
          .top = {256, 64, 1},
          .pooling = 80};
}

ModelShape rmc2() {
  return {.name = "rmc2",
          .table_rows = std::vector<RowId>(40, 18'750'000),
          .dim = 32,
          .bottom = {13, 256, 128, 32},
          .top = {512, 128, 1},
          .pooling = 80};
}

ModelShape rmc3() {
  return {.name = "rmc3",
          .table_rows = std::vector<RowId>(10, 75'000'000),
          .dim = 32,
          .bottom = {13, 2560, 512, 32},
          .top = {512, 128, 1},
          .pooling = 20};
}

ModelShape basic() {
  return {.name = "basic",
          .table_rows = std::vector<RowId>(26, 16'000'000),
          .dim = 64,
          .bottom = {13, 512, 256, 64},
          .top = {512, 512, 256, 1},
          .pooling = 1};
}

ModelShape kaggle() {
  return {.name = "kaggle",
          .table_rows = {1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
                         93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
                         2173,  4,    7046547,  18,      15,  286181, 105,     142572},
          .dim = 16,
          .bottom = {13, 512, 256, 64, 16},
          .top = {512, 256, 1},
          .pooling = 1};
}

ModelShape small() {
  return {.name = "small",
          .table_rows = std::vector<RowId>(8, 10'000),
          .dim = 16,
          .bottom = {13, 64, 16},
          .top = {64, 1},
          .pooling = 1};
}

struct NamedShape {
  std::string_view name;
  ModelShape (*make)();
};

constexpr std::array<NamedShape, 7> kShapes = {{{"mlperf", mlperf},
                                                {"rmc1", rmc1},
                                                {"rmc2", rmc2},
                                                {"rmc3", rmc3},
                                                {"basic", basic},
                                                {"kaggle", kaggle},
                                                {"small", small}}};

ModelShape full_size(std::string_view name) {
  std::string allowed;
  for (const NamedShape& shape : kShapes) {
    if (shape.name == name) return shape.make();
    allowed += (allowed.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw UserError("model is " + std::string(name) + "; it must be one of " + allowed);
}

}  // namespace

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  names.reserve(kShapes.size());
  for (const NamedShape& shape : kShapes) names.push_back(shape.name);
  return names;
}

ModelShape named_shape(std::string_view name, double scale) {
  ModelShape shape = full_size(name);
  if (!std::isfinite(scale) || scale <= 0.0) {
    throw UserError("scale is " + std::to_string(scale) +
                    "; it must be positive and finite, for example 0.01");
  }
  for (RowId& rows : shape.table_rows) {
    const double scaled = std::ceil(static_cast<double>(rows) * scale);
    if (scaled >= 0x1p40) {
      throw UserError("scale " + std::to_string(scale) + " gives a table of " + shape.name +
                      " 2^40 rows or more; use a smaller scale");
    }
    rows = static_cast<RowId>(scaled);
  }
  shape.validate();
  return shape;
}

}  // namespace lazydp
