#include "lazydp/bench/paper/experiments.h"

#include <array>
#include <fstream>

#include "lazydp/base/memory.h"
#include "lazydp/base/parallel.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/model/gemm.h"
#include "lazydp/report/html_page.h"

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

namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "a processor without a name";
}

std::vector<Cells> table_of(const std::vector<Comparison>& comparisons) {
  std::vector<Cells> rows = {{"", "paper", "here", "why they differ, or what it stands for"}};
  for (const Comparison& c : comparisons) rows.push_back({c.what, c.paper, c.ours, c.because});
  return rows;
}

}  // namespace

std::string circumstances(const Scale& scale) {
  return processor() + ", " + std::to_string(thread_count()) + " threads, " +
         human_bytes(static_cast<double>(available_memory())) + " of memory free, noise by " +
         std::string(best_noise_path().name) + ", products by " + std::string(sgemm_library()) +
         "; " + std::string(scale.name) + " run with tables of up to " +
         human_bytes(scale.table_bytes);
}

std::string index_page(const Scale& scale, const std::vector<Done>& done) {
  HtmlPage page("LazyDP: the paper's experiments on this machine", circumstances(scale));
  page.paragraph(
      "Solid bars and lines were measured here, interleaved in one process. Outlines were not: "
      "they "
      "are extrapolated from measured ones to the paper's table sizes, by the rule that eager "
      "noise "
      "is linear in the bytes of the tables and nothing else changes. LazyDP without ANS is timed "
      "with rows as late as in the middle of a long run.");
  if (scale.name == "smoke") {
    page.warning("A smoke run: batches and tables are tiny, and its times mean nothing.");
  }
  for (const Done& each : done) {
    page.heading(std::string(each.experiment->title));
    const std::string took = each.seconds < 1.0 ? "" : "; took " + human_duration(each.seconds);
    page.paragraph(std::string(each.experiment->where) + " of the paper. Numbers: " +
                   std::string(each.experiment->name) + ".csv" + took + ".");
    page.table(table_of(each.findings.comparisons));
    for (const std::string& note : each.findings.notes) page.paragraph(note);
    for (const Picture& picture : each.findings.pictures) page.picture(picture.svg);
  }
  return page.finish();
}

}  // namespace lazydp::paper
