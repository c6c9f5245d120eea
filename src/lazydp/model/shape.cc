#include "lazydp/model/shape.h"

#include <algorithm>
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

// The layers between consecutive widths, their parameters one after another from `first`.
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

}  // namespace lazydp
