// Binds bags, norms and the tables of a parameter group.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/clip/merged_rows.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/engine/table_group.h"
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

using Call = std::tuple<const PooledBags*, FloatMatrix, std::size_t>;  // bags an example

TableCall view_of(const Call& call, std::size_t examples) {
  const auto& [bags, gradients, per_example] = call;
  check(gradients.shape(0) == bags->bags.size(), "a gradient for each bag");
  check(bags->bags.size() == examples * per_example, "as many bags for each example");
  return {&bags->bags, bags->mode, view_of(gradients), per_example};
}

void squared_norms(const Call& call, const Floats& out) {
  add_squared_table_norms(view_of(call, out.size()), span_of(out));
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

void apply(TableGroup& group, std::size_t table, const std::vector<Part>& parts) {
  if (parts.size() == 1) {
    const auto& [bags, gradients] = parts[0];
    return group.apply(table, {&bags->bags, bags->mode, view_of(gradients)});
  }
  std::size_t count = 0;
  for (const Part& part : parts) count += std::get<0>(part)->bags.size();
  Bags bags;
  Matrix pooled(count, group.dim(table));
  for (const auto& [from, gradients] : parts) append(*from, gradients, bags, pooled, bags.size());
  group.apply(table, {&bags, Pooling::sum, pooled.view()});
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
  module.def("squared_norms", &squared_norms, "call"_a, "out"_a.noconvert(), unlocked);
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
      .def("apply", &apply, "table"_a, "parts"_a, unlocked)
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
