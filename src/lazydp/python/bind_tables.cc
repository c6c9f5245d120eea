// Binds the tables of a parameter group.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/engine/table_group.h"
#include "lazydp/noise/policies.h"
#include "lazydp/python/pooled_bags.h"

namespace lazydp {
namespace {

NoisePolicy policy_from(const std::string& name) {
  const auto found = std::ranges::find(policies(), name, &PolicyTraits::name);
  if (found != policies().end()) return found->policy;
  throw UserError("noise is '" + name +
                  "'; it must be lazy, lazy_each_step, every_row or touched_rows");
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
