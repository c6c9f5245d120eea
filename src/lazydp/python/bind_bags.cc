// Binds bags, and the norms and factors of their gradients.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/clip/merged_rows.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/python/pooled_bags.h"

namespace lazydp {
namespace {

// Copies ids, so that the caller's tensors may change afterwards. Row ids are checked here.
PooledBags make_bags(const Integers& ids, const std::optional<Integers>& offsets,
                     const std::optional<Floats>& weights, bool mean, RowId rows) {
  PooledBags out{.bags = {}, .mode = mean ? Pooling::mean : Pooling::sum};
  out.bags.ids.assign(ids.data(), ids.data() + ids.size());
  for (const RowId id : out.bags.ids) {
    if (id < 0 || id >= rows) {
      throw nb::index_error(
          ("id " + std::to_string(id) + " in a table of " + std::to_string(rows) + " rows")
              .c_str());
    }
  }
  if (!offsets) {  // a bag for each id
    out.bags.offsets.resize(ids.size() + 1);
    for (std::size_t i = 0; i <= ids.size(); ++i) out.bags.offsets[i] = i;
  } else {
    out.bags.offsets.assign(offsets->data(), offsets->data() + offsets->size());
    check(!out.bags.offsets.empty() && out.bags.offsets.front() == 0 &&
              out.bags.offsets.back() == ids.size() && std::ranges::is_sorted(out.bags.offsets),
          "offsets of bags ascend from 0 to the number of ids");
  }
  if (weights) {
    check(weights->size() == ids.size(), "a weight for each id");
    out.bags.weights.assign(weights->data(), weights->data() + weights->size());
  }
  return out;
}

// Returns the memory of `values`, which belongs to `owner`, as an array.
template <class Value, class Owner>
auto array_of(std::vector<Value>& values, Owner& owner) {
  using Array = nb::ndarray<nb::numpy, Value, nb::ndim<1>>;
  return nb::cast(Array(values.data(), {values.size()}, nb::find(owner)), nb::rv_policy::reference);
}

// The last is the number of bags of each example; or the first bag of each, and the end.
using Call = std::tuple<const PooledBags*, FloatMatrix, std::variant<std::size_t, Integers>>;

TableCall call_of(const Call& call, std::size_t examples) {
  const auto& [bags, gradients, of_each] = call;
  check(gradients.shape(0) == bags->bags.size(), "a gradient for each bag");
  TableCall view{&bags->bags, bags->mode, view_of(gradients)};
  if (const auto* same = std::get_if<std::size_t>(&of_each)) {
    view.bags_per_example = *same;
  } else {
    view.first_bags = span_of(std::get<Integers>(of_each));
    check(view.first_bags.size() == examples + 1 && view.first_bags[0] == 0 &&
              std::ranges::is_sorted(view.first_bags),
          "bags of examples ascend from 0");
  }
  check(view.first_bag(examples) == bags->bags.size(), "every bag belongs to an example");
  return view;
}

// Writes the squared norms of the calls of several tables, of an example each, to out[k].
void squared_norms(const std::vector<Call>& calls, const std::vector<Floats>& out) {
  check(calls.size() == out.size(), "norms for each call");
  std::vector<TableCall> views;
  std::vector<std::span<float>> squared;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    views.push_back(call_of(calls[k], out[k].size()));
    squared.push_back(span_of(out[k]));
    std::ranges::fill(squared.back(), 0.0f);
  }
  add_squared_table_norms(views, squared);
}

// Multiplies row b of each matrix by its factor. A factor of 0 leaves a row out: it becomes zeros,
// whatever it held.
void scale_rows(const std::vector<std::tuple<FloatMatrix, Floats>>& gradients) {
  for (const auto& [matrix, factors] : gradients) {
    check(matrix.shape(0) == factors.size(), "a factor for each row");
  }
  parallel_for(gradients.size(), [&](std::size_t k) {
    const auto& [matrix, factors] = gradients[k];
    for (std::size_t b = 0; b < factors.size(); ++b) {
      const std::span<float> row(matrix.data() + b * matrix.shape(1), matrix.shape(1));
      const float factor = factors.data()[b];
      if (factor == 0.0f) {
        std::ranges::fill(row, 0.0f);
      } else {
        scale(factor, row);
      }
    }
  });
}

// RowGradients, with bags as Python knows them.
struct MergedRows {
  std::vector<PooledBags> once;  // for each call
  PooledBags merged;
  Matrix values;
  std::vector<std::size_t> first;
};

// Group g has the examples [starts[g], starts[g + 1]); adds its squared norm to squared[g].
MergedRows merge(const std::vector<Call>& calls, const Integers& starts, const Doubles& squared) {
  const std::vector<std::size_t> groups(starts.data(), starts.data() + starts.size());
  check(!groups.empty() && groups[0] == 0 && std::ranges::is_sorted(groups),
        "groups of examples ascend from 0");
  std::vector<TableCall> views;
  views.reserve(calls.size());
  for (const Call& call : calls) views.push_back(call_of(call, groups.back()));
  RowGradients rows = merge_rows(views, groups, span_of(squared));
  MergedRows out{.once = {},
                 .merged = {.bags = std::move(rows.merged), .mode = Pooling::sum},
                 .values = std::move(rows.values),
                 .first = std::move(rows.first)};
  for (Bags& bags : rows.once) out.once.push_back({.bags = std::move(bags), .mode = Pooling::sum});
  return out;
}

}  // namespace

void bind_bags(nb::module_& module) {
  using nb::literals::operator""_a;
  const nb::call_guard<nb::gil_scoped_release> unlocked;

  nb::class_<PooledBags>(module, "Bags", "Rows that a table is asked for, bag by bag.")
      .def_prop_ro("bags", [](const PooledBags& self) { return self.bags.size(); })
      .def_prop_ro("ids", [](PooledBags& self) { return array_of(self.bags.ids, self); })
      .def_prop_ro("offsets", [](PooledBags& self) { return array_of(self.bags.offsets, self); })
      .def_prop_ro("weights", [](PooledBags& self) { return array_of(self.bags.weights, self); })
      .def_prop_ro("mean", [](const PooledBags& self) { return self.mode == Pooling::mean; });
  module.def("make_bags", &make_bags, "ids"_a.noconvert(), "offsets"_a.noconvert().none(),
             "weights"_a.noconvert().none(), "mean"_a, "rows"_a);
  module.def("squared_norms", &squared_norms, "calls"_a, "out"_a.noconvert(), unlocked);
  module.def("scale_rows", &scale_rows, "gradients"_a.noconvert(), unlocked);
  nb::class_<MergedRows>(module, "MergedRows", "Gradients by row, each group's rows once.")
      .def(
          "once", [](MergedRows& self, std::size_t call) { return &self.once.at(call); }, "call"_a,
          nb::rv_policy::reference_internal)
      .def_prop_ro(
          "merged", [](MergedRows& self) { return &self.merged; },
          nb::rv_policy::reference_internal)
      .def_prop_ro("first", [](MergedRows& self) { return array_of(self.first, self); })
      .def_prop_ro("values", [](MergedRows& self) {
        using Array = nb::ndarray<nb::numpy, float, nb::ndim<2>>;
        return nb::cast(
            Array(self.values.data(), {self.values.rows(), self.values.cols()}, nb::find(self)),
            nb::rv_policy::reference);
      });
  module.def("merge_rows", &merge, "calls"_a, "starts"_a.noconvert(), "squared"_a.noconvert(),
             unlocked);
}

}  // namespace lazydp
