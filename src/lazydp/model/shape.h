#pragma once
// The sizes of a recommendation model: tables, layers and how they join; and the paper's models by
// name.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// A linear layer y = W x + b, and the position of W, then b, in the array of all dense parameters.
struct LayerShape {
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t first_parameter = 0;

  std::size_t parameters() const { return out * (in + 1); }
  std::size_t first_bias() const { return first_parameter + out * in; }
};

// The input of the top MLP: dot products of all pairs of vectors, after the bottom MLP's output
// alone or, so that an id can also have an effect of its own, after all vectors. With a linear
// term the first coordinates of the tables' pooled vectors are also added to the logit: an id then
// has an effect from the first step on, whatever the MLPs have learned.
enum class Interaction : std::uint8_t { dot, concat_dot, linear_concat_dot };

inline constexpr std::array<std::pair<std::string_view, Interaction>, 3> kInteractions = {
    {{"dot", Interaction::dot},
     {"cat+dot", Interaction::concat_dot},
     {"linear+cat+dot", Interaction::linear_concat_dot}}};

std::string_view interaction_name(Interaction interaction);

struct ModelShape {
  std::string name;
  std::vector<RowId> table_rows;    // one for each table
  std::size_t dim = 0;              // width of every table
  std::vector<std::size_t> bottom;  // widths, dense features first, dim last: 13-512-256-128
  std::vector<std::size_t> top;     // widths after the interaction, 1 last: 1024-1024-512-256-1
  std::size_t pooling = 1;          // look-ups in a bag
  Pooling mode = Pooling::sum;
  Interaction interaction = Interaction::dot;

  bool has_linear_term() const { return interaction == Interaction::linear_concat_dot; }

  // Throws UserError unless the shape can be built. The functions below rely on it.
  void validate() const;

  std::size_t tables() const { return table_rows.size(); }
  std::size_t dense_features() const { return bottom.front(); }
  std::uint64_t total_rows() const;
  std::uint64_t table_bytes() const;
  std::uint64_t history_bytes() const;  // 4 bytes a row

  // Returns the top MLP's input width: one vector or all, and every pair's dot product.
  std::size_t interaction_width() const {
    const std::size_t vectors = tables() + 1;
    return vectors * tables() / 2 + (interaction == Interaction::dot ? dim : vectors * dim);
  }

  // Return the dense layers in the order of their parameters: the bottom's, then the top's.
  std::vector<LayerShape> bottom_layers() const;
  std::vector<LayerShape> top_layers() const;
  std::size_t parameters() const;  // number of dense parameters
};

// Returns the names that named_shape() knows.
std::vector<std::string_view> model_names();

// Returns a model by name; every table has ceil(scale x rows) rows. Throws UserError for any other
// name.
ModelShape named_shape(std::string_view name, double scale = 1.0);

// A model that was chosen by its name, some of its sizes perhaps replaced.
struct ModelChoice {
  ModelShape shape;   // named "custom" once a size was replaced
  std::string named;  // name of the original model
  double scale = 1.0;
};

}  // namespace lazydp
