#include "lazydp/bench/paper/experiments.h"

#include <array>

namespace lazydp::paper {
namespace {

constexpr std::array kExperiments = {
    Experiment{"time-breakdown", "Where a step's time goes, over table sizes", "Section 4.1",
               time_breakdown},
    Experiment{"table-accesses", "Rows that a step reads and writes", "Section 4.1",
               table_accesses},
    Experiment{"update-breakdown", "Where the model update's time goes, over table sizes",
               "Section 4.2", update_breakdown},
    Experiment{"vector-throughput", "Vector throughput over operations a loaded vector",
               "Section 4.3", vector_throughput},
    Experiment{"reductions", "What laziness and aggregated noise sampling each remove",
               "Sections 5.2 and 7.1", reductions},
    Experiment{"end-to-end", "Step times at three batch sizes", "Section 7.1", end_to_end},
    Experiment{"lazydp-breakdown", "Where LazyDP's time goes", "Section 7.1", lazydp_breakdown},
    Experiment{"energy", "Energy of a step", "Section 7.1", energy},
    Experiment{"overhead", "Memory that LazyDP adds", "Section 7.2", memory_overhead},
    Experiment{"table-size", "Sensitivity to table size", "Section 7.3", table_size},
    Experiment{"pooling", "Sensitivity to pooling", "Section 7.3", pooling},
    Experiment{"models", "Sensitivity to the model", "Section 7.3", models},
    Experiment{"skew", "Sensitivity to skewed accesses", "Section 7.3", skew},
    Experiment{"eana", "LazyDP and EANA: speed, and what EANA leaks", "Section 7.4", eana},
    Experiment{"equivalence", "LazyDP trains what DP-SGD trains", "Section 5.2", equivalence},
};

}  // namespace

std::span<const Experiment> experiments() {
  return kExperiments;
}

}  // namespace lazydp::paper
