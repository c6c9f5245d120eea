// Binds bags, norms and the tables of a parameter group.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
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
#include "lazydp/engine/table_group.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/noise/policies.h"
#include "lazydp/python/bindings.h"

namespace lazydp {
namespace {

NoisePolicy policy_from(const std::string& name) {
  const auto found = std::ranges::find(policies(), name, &PolicyTraits::name);
  if (found != policies().end()) return found->policy;
  throw UserError("noise is '" + name +
                  "'; it must be lazy, lazy_each_step, every_row or touched_rows");
}

// Bags as the caller of a table gave them, and how they are pooled.
struct PooledBags {
  Bags bags;
  Pooling mode = Pooling::sum;
};

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

ConstMatrixView view_of(const FloatMatrix& matrix) {
  return {matrix.data(), matrix.shape(0), matrix.shape(1), matrix.shape(1)};
}

// The last is the number of bags of each example; or the first bag of each, and the end.
using Call = std::tuple<const PooledBags*, FloatMatrix, std::variant<std::size_t, Integers>>;

TableCall view_of(const Call& call, std::size_t examples) {
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
    views.push_back(view_of(calls[k], out[k].size()));
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
  for (const Call& call : calls) views.push_back(view_of(call, groups.back()));
  RowGradients rows = merge_rows(views, groups, span_of(squared));
  MergedRows out{.once = {},
                 .merged = {.bags = std::move(rows.merged), .mode = Pooling::sum},
                 .values = std::move(rows.values),
                 .first = std::move(rows.first)};
  for (Bags& bags : rows.once) out.once.push_back({.bags = std::move(bags), .mode = Pooling::sum});
  return out;
}

using Part = std::tuple<const PooledBags*, FloatMatrix>;

// Appends bags and their gradients to one list; a mean becomes weights.
void append(const PooledBags& from, const FloatMatrix& gradients, Bags& bags, Matrix& pooled,
            std::size_t first_bag) {
  const std::size_t first_id = bags.ids.size();
  bags.ids.insert(bags.ids.end(), from.bags.ids.begin(), from.bags.ids.end());
  for (std::size_t b = 0; b < from.bags.size(); ++b) {
    const std::size_t length = from.bags.length(b);
    const float share = from.mode == Pooling::mean ? 1.0f / static_cast<float>(length) : 1.0f;
    for (std::size_t k = from.bags.offsets[b]; k < from.bags.offsets[b + 1]; ++k) {
      bags.weights.push_back(share * from.bags.weight(k));
    }
    bags.offsets.push_back(first_id + from.bags.offsets[b + 1]);
  }
  std::copy_n(gradients.data(), gradients.size(), pooled.data() + first_bag * pooled.cols());
}

// The parts of a table's gradient as one list, which refers to them where there is one alone.
class JoinedParts {
 public:
  JoinedParts(const std::vector<Part>& parts, std::size_t dim) {
    if (parts.size() == 1) {
      const auto& [bags, gradients] = parts[0];
      gradient_ = {&bags->bags, bags->mode, view_of(gradients)};
      return;
    }
    std::size_t count = 0;
    for (const Part& part : parts) count += std::get<0>(part)->bags.size();
    pooled_.reshape(count, dim);
    for (const auto& [from, values] : parts) append(*from, values, bags_, pooled_, bags_.size());
    gradient_ = {&bags_, Pooling::sum, pooled_.view()};
  }
  JoinedParts(const JoinedParts&) = delete;
  JoinedParts& operator=(const JoinedParts&) = delete;

  const TableGradient& gradient() const { return gradient_; }

 private:
  Bags bags_;
  Matrix pooled_;
  TableGradient gradient_;
};

using Update = std::tuple<std::size_t, std::vector<Part>>;

void apply(TableGroup& group, const std::vector<Update>& updates) {
  std::vector<std::unique_ptr<JoinedParts>> joined(updates.size());
  parallel_for(updates.size(), [&](std::size_t k) {
    const auto& [table, parts] = updates[k];
    joined[k] = std::make_unique<JoinedParts>(parts, group.dim(table));
  });
  std::vector<TableGroup::Update> gradients;
  for (std::size_t k = 0; k < updates.size(); ++k) {
    gradients.push_back({std::get<0>(updates[k]), joined[k]->gradient()});
  }
  group.apply(gradients);
}

void settle_and_pool(TableGroup& group, std::size_t table, const PooledBags& bags,
                     const FloatMatrix& out) {
  check(out.shape(0) == bags.bags.size() && out.shape(1) == group.dim(table),
        "a pooled row for each bag");
  group.settle_and_pool(table, bags.bags, bags.mode,
                        {out.data(), out.shape(0), out.shape(1), out.shape(1)});
}

std::size_t add_table(TableGroup& group, TableId id, const FloatMatrix& weights,
                      const std::optional<FloatMatrix>& momentum, std::optional<RowId> padding) {
  return group.add({.id = id,
                    .weights = span_of(weights),
                    .momentum = momentum ? span_of(*momentum) : std::span<float>(),
                    .dim = weights.shape(1),
                    .padding = padding});
}

TableGroup* make_group(const NoiseSource& noise, const std::string& policy, bool momentum,
                       bool decays, const std::vector<double>& bands) {
  return new TableGroup(noise, {.rule = momentum ? TableRule::momentum : TableRule::sgd,
                                .policy = policy_from(policy),
                                .decay = decays ? WeightDecay::on : WeightDecay::off,
                                .correlation = Correlation(bands)});
}

}  // namespace

void bind_tables(nb::module_& module) {
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

  nb::class_<TableStep>(module, "Rule", "How a step of an optimizer moves weights.")
      .def(nb::init<double, double, double, double, bool, bool, double, double>(), nb::kw_only(),
           "learning_rate"_a, "weight_decay"_a, "momentum"_a, "dampening"_a, "nesterov"_a,
           "first"_a, "divisor"_a, "noise_std"_a)
      .def_prop_ro("noise_per_step", [](const TableStep& self) {
        return self.learning_rate * self.noise_std / self.divisor;
      });
  nb::class_<TableGroup>(module, "TableGroup", "Tables that share a parameter group.")
      .def(nb::new_(&make_group), "noise"_a, "policy"_a, "momentum"_a, "decays"_a, "bands"_a)
      .def("add", &add_table, "id"_a, "weights"_a.noconvert(), "momentum"_a.noconvert().none(),
           "padding"_a.none())
      .def("require", &TableGroup::require, "rule"_a)
      .def("open", &TableGroup::open, "rule"_a)
      .def("apply", &apply, "updates"_a, unlocked)
      .def("settle_and_pool", &settle_and_pool, "table"_a, "bags"_a, "out"_a.noconvert(), unlocked)
      .def(
          "settle",
          [](TableGroup& self, std::size_t table, const PooledBags& bags) {
            self.settle(table, bags.bags.ids);
          },
          "table"_a, "bags"_a, unlocked)
      .def("settle_all", nb::overload_cast<>(&TableGroup::settle_all), unlocked)
      .def("settle_table", nb::overload_cast<std::size_t>(&TableGroup::settle_all), "table"_a,
           unlocked)
      .def("forget_debts", &TableGroup::forget_debts, "table"_a, unlocked)
      .def("all_settled", &TableGroup::all_settled, unlocked)
      .def_prop_ro("now", &TableGroup::now);
}

}  // namespace lazydp
