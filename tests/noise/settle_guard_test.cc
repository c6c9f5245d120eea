// Memory runs out at every place of every pass over rows: either nothing is lost, or every later
// use of the tables is refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/noise/momentum_tables.h"
#include "lazydp/noise/sgd_tables.h"
#include "lazydp/noise/table_optimizer.h"
#include "tests/support/allocations.h"

namespace lazydp {
namespace {

constexpr RowId kRows = 3000;
constexpr std::size_t kDim = 20;
constexpr std::size_t kTables = 2;
constexpr NoisePolicy kPolicies[] = {NoisePolicy::none, NoisePolicy::every_row,
                                     NoisePolicy::touched_rows, NoisePolicy::lazy_each_step,
                                     NoisePolicy::lazy_aggregated};

Bags bags_of(RowId first, RowId count) {
  Bags bags;
  for (RowId r = first; r < first + count; ++r) {
    bags.ids.push_back(r);
    bags.offsets.push_back(bags.ids.size());
  }
  return bags;
}

std::vector<float> copy_of(std::vector<Table>& tables) {
  std::vector<float> all;
  for (Table& table : tables) {
    const float* first = table.row(0).data();
    all.insert(all.end(), first, first + kRows * kDim);
  }
  return all;
}

// Two tables after two steps, with rows that wait. Nothing here has grown to its usual size yet, so
// that a pass has to ask for memory.
struct Waiting {
  std::vector<Table> tables;
  VarianceClock clock;
  NoiseSource noise{Seed::fixed(3)};
  std::unique_ptr<SgdTables> updates;
  StageClock stages;
  Bags some = bags_of(5, 900);
  Matrix gradient;
  Matrix pooled[kTables];
  std::vector<TableGradient> gradients;
  std::vector<Ids> ids;
  std::vector<Bags> bags;
  std::vector<MatrixView> to;

  Waiting(NoisePolicy policy, NoisePasses kernels) {
    for (TableId k = 0; k < kTables; ++k) tables.emplace_back(k, kRows, kDim);
    updates = std::make_unique<SgdTables>(policy, tables, clock, noise, WeightDecay::on, kernels);
    for (int step = 0; step < 2; ++step) clock.open(0.1, 1.0, 0.99);
    gradient.reshape(some.size(), kDim);
    std::fill_n(gradient.data(), some.size() * kDim, 0.5f);
    for (Matrix& out : pooled) {
      out.reshape(some.size(), kDim);
      to.push_back(out.view());
      gradients.push_back({&some, Pooling::sum, gradient.view()});
      ids.emplace_back(some.ids);
      bags.push_back(some);
    }
  }
};

// The next number of allocations to try: every one of the first, then fewer and fewer.
long later(long allocations) {
  return allocations + 1 + allocations / 8;
}

struct Pass {
  const char* name;
  std::function<void(Waiting&)> run;
};

const Pass kPasses[] = {
    {"apply", [](Waiting& w) { w.updates->apply(2, w.gradients, w.stages); }},
    {"settle", [](Waiting& w) { w.updates->settle(2, w.ids, w.stages); }},
    {"read",
     [](Waiting& w) { w.updates->settle_and_pool(2, w.bags, Pooling::sum, w.to, w.stages); }},
    {"settle_all", [](Waiting& w) { w.updates->settle_all(2); }},
};

// All that later depends on the rows being what their history says.
void expect_refused(Waiting& w, const std::string& where) {
  for (const Pass& pass : kPasses) EXPECT_THROW(pass.run(w), InternalError) << where << pass.name;
  EXPECT_THROW(w.updates->all_settled(2), InternalError) << where;
  EXPECT_THROW(w.updates->settled_through(0), InternalError) << where;
  EXPECT_THROW(w.updates->require_whole(), InternalError) << where;
  std::vector<float> values(kDim);
  Table window = Table::window(w.tables[0], 7, values);
  EXPECT_THROW(w.updates->settle_copy(2, 0, 7, 8, window), InternalError) << where;
}

bool whole(SgdTables& updates) {
  try {
    updates.require_whole();
  } catch (const InternalError&) {
    return false;
  }
  return true;
}

class FailingPass : public ::testing::TestWithParam<int> {
 protected:
  FailingPass() { set_thread_count(GetParam()); }
  ~FailingPass() override { set_thread_count(before_); }
  int before_ = thread_count();
};

TEST_P(FailingPass, LosesNoNoiseOrEndsTheTables) {
  int failures = 0;
  for (const NoisePolicy policy : kPolicies) {
    for (const NoisePasses kernels : {NoisePasses::fused, NoisePasses::split}) {
      for (const Pass& pass : kPasses) {
        Waiting undisturbed(policy, kernels);
        pass.run(undisturbed);
        undisturbed.updates->settle_all(2);
        const std::vector<float> expected = copy_of(undisturbed.tables);
        for (long allocations = 0;; allocations = later(allocations)) {
          Waiting w(policy, kernels);
          if (!oracle::runs_out_of_memory(allocations, [&] { pass.run(w); })) break;
          ++failures;
          const std::string where = std::string(pass.name) + " after " +
                                    std::to_string(allocations) + " allocations, then ";
          if (!whole(*w.updates)) {
            expect_refused(w, where);
            continue;
          }
          pass.run(w);
          w.updates->settle_all(2);
          EXPECT_EQ(copy_of(w.tables), expected) << where << "again";
        }
      }
    }
  }
  EXPECT_GT(failures, 50) << "passes must have asked for memory";
}

INSTANTIATE_TEST_SUITE_P(Threads, FailingPass, ::testing::Values(1, 2));

TEST(FailingPass, OfATableWithMomentumEndsIt) {
  int failures = 0;
  for (const NoisePolicy policy : kPolicies) {
    for (const int what : {0, 1, 2}) {
      for (long allocations = 0;; allocations = later(allocations)) {
        std::vector<Table> tables;
        tables.emplace_back(TableId{0}, kRows, kDim);
        MomentumClock clock;
        const NoiseSource noise(Seed::fixed(3));
        MomentumTables updates(policy, tables, clock, noise);
        StageClock stages;
        const TableStep step{.learning_rate = 0.1, .momentum = 0.9, .noise_std = 1.0};
        for (int i = 0; i < 2; ++i) clock.open(step);
        const Bags some = bags_of(5, 900);
        Matrix gradient(some.size(), kDim);
        const TableGradient sum = {&some, Pooling::sum, gradient.view()};
        const auto pass = [&](int which) {
          const Ids ids = some.ids;
          if (which == 0) updates.apply(2, {&sum, 1}, stages);
          if (which == 1) updates.settle(2, {&ids, 1}, stages);
          if (which == 2) updates.settle_all(2);
        };
        if (!oracle::runs_out_of_memory(allocations, [&] { pass(what); })) break;
        ++failures;
        for (const int later : {0, 1, 2}) EXPECT_THROW(pass(later), InternalError) << what << later;
        EXPECT_THROW(updates.settled_through(0), InternalError) << what;
      }
    }
  }
  EXPECT_GT(failures, 50) << "passes must have asked for memory";
}

// An exception that the caller throws between two tables is the caller's: no row was left half-way.
TEST(FailingPass, IsNotWhatTheCallersProgressThrows) {
  Waiting w(NoisePolicy::lazy_aggregated, NoisePasses::fused);
  EXPECT_THROW(w.updates->settle_all(2, [](std::uint64_t) { throw UserError("stop"); }), UserError);
  w.updates->settle_all(2);
  EXPECT_TRUE(w.updates->all_settled(2));
}

}  // namespace
}  // namespace lazydp
