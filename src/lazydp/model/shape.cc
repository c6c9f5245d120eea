#include "lazydp/model/shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

constexpr RowId kRowLimit = RowId{1} << 40;  // the noise address has 40 bits for a row
constexpr std::size_t kMaxDim = 4096;        // and 13 for a block of its normals
constexpr std::size_t kMaxTables = 65000;    // and 16 for a table
constexpr std::size_t kMaxWidth = 1 << 20;
constexpr std::size_t kMaxPooling = 1'000'000;
constexpr std::size_t kMaxParameters = std::size_t{1} << 40;
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 60;

void require(bool ok, const std::string& given, const std::string& allowed) {
  if (!ok) throw UserError(given + "; " + allowed);
}

void require_widths(std::span<const std::size_t> widths, const std::string& which) {
  for (const std::size_t width : widths) {
    require(width >= 1 && width <= kMaxWidth,
            "the " + which + " MLP has a layer of width " + std::to_string(width),
            "a width must be from 1 to " + std::to_string(kMaxWidth));
  }
}

// Returns the layers between consecutive widths, their parameters one after another from `first`.
std::vector<LayerShape> layers_between(std::size_t input, std::span<const std::size_t> widths,
                                       std::size_t first) {
  std::vector<LayerShape> layers;
  layers.reserve(widths.size());
  for (const std::size_t width : widths) {
    layers.push_back({.in = input, .out = width, .first_parameter = first});
    first += layers.back().parameters();
    input = width;
  }
  return layers;
}

std::size_t end_of(std::span<const LayerShape> layers) {
  return layers.back().first_parameter + layers.back().parameters();
}

}  // namespace

std::string_view interaction_name(Interaction interaction) {
  return std::ranges::find(kInteractions, interaction,
                           [](const auto& named) { return named.second; })
      ->first;
}

void ModelShape::validate() const {
  require(!table_rows.empty() && tables() <= kMaxTables,
          "the model has " + std::to_string(tables()) + " tables",
          "it must have from 1 to " + std::to_string(kMaxTables));
  require(dim >= 1 && dim <= kMaxDim, "dim is " + std::to_string(dim),
          "it must be from 1 to " + std::to_string(kMaxDim));
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < tables(); ++t) {
    require(table_rows[t] >= 1 && table_rows[t] < kRowLimit,
            "table " + std::to_string(t) + " has " + std::to_string(table_rows[t]) + " rows",
            "a table must have at least 1 and fewer than 2^40 rows");
    bytes += static_cast<std::uint64_t>(table_rows[t]) * dim * sizeof(float);  // < 2^54 each
    require(bytes <= kMaxTableBytes, "the tables take more than 2^60 bytes",
            "use fewer rows, fewer tables or a smaller dim");
  }
  require(bottom.size() >= 2, "the bottom MLP has " + std::to_string(bottom.size()) + " widths",
          "it must have at least two: the dense features and dim");
  require_widths(bottom, "bottom");
  require(bottom.back() == dim, "the bottom MLP's last width is " + std::to_string(bottom.back()),
          "it must be dim, which is " + std::to_string(dim));
  require(!top.empty(), "the top MLP has no layer", "it must have at least one, of width 1");
  require_widths(top, "top");
  require(top.back() == 1, "the top MLP's last width is " + std::to_string(top.back()),
          "it must be 1: the logit");
  require(pooling >= 1 && pooling <= kMaxPooling, "pooling is " + std::to_string(pooling),
          "it must be from 1 to " + std::to_string(kMaxPooling));
  std::size_t count = 0;
  for (const auto& layers : {bottom_layers(), top_layers()}) {
    for (const LayerShape& layer : layers) {
      count += layer.parameters();  // < 2^52 each
      require(count <= kMaxParameters, "the MLPs have more than 2^40 parameters",
              "use narrower layers or fewer tables");
    }
  }
}

std::uint64_t ModelShape::total_rows() const {
  std::uint64_t total = 0;
  for (const RowId rows : table_rows) total += static_cast<std::uint64_t>(rows);
  return total;
}

std::uint64_t ModelShape::table_bytes() const {
  return total_rows() * dim * sizeof(float);
}

std::uint64_t ModelShape::history_bytes() const {
  return total_rows() * sizeof(Step);
}

std::vector<LayerShape> ModelShape::bottom_layers() const {
  return layers_between(bottom.front(), std::span(bottom).subspan(1), 0);
}

std::vector<LayerShape> ModelShape::top_layers() const {
  return layers_between(interaction_width(), top, end_of(bottom_layers()));
}

std::size_t ModelShape::parameters() const {
  return end_of(top_layers());
}

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
