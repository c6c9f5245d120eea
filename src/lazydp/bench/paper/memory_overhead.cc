// Measures the memory that LazyDP adds to a model: a history, and a second entry in the input
// queue.

#include <algorithm>
#include <array>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

constexpr std::array<std::string_view, 6> kModels = {"mlperf", "rmc1",  "rmc2",
                                                     "rmc3",   "basic", "kaggle"};

// Returns the bytes of a real batch's ids and offsets, which say what the next step reads.
double queue_bytes(const ModelShape& shape, std::uint64_t batch) {
  const auto data = make_timing_dataset({.examples = batch,
                                         .dense_features = shape.dense_features(),
                                         .table_rows = shape.table_rows,
                                         .pooling = shape.pooling},
                                        AccessLaw{});
  std::vector<ExampleId> examples(batch);
  for (std::size_t i = 0; i < examples.size(); ++i) examples[i] = i;
  Batch next;
  data->read(examples, next);
  std::size_t bytes = 0;
  for (const Bags& bags : next.bags) {
    bytes += bags.ids.size() * sizeof(RowId) + bags.offsets.size() * sizeof(std::size_t);
  }
  return static_cast<double>(bytes);
}

// Returns the bytes a row of a trainer's real histories, for tables of a size that fits.
double history_bytes_a_row(Measurer& measurer) {
  const Measurement& m = measurer.measure(contest(measurer, measurer.scale().batch()));
  return static_cast<double>(m.of("lazydp").history_bytes) /
         static_cast<double>(m.options.model.shape.total_rows());
}

}  // namespace

Findings memory_overhead(Measurer& measurer) {
  Findings findings;
  findings.sheet.columns = {"model",         "table_bytes", "history_bytes",
                            "history_share", "queue_bytes", "standing"};
  BarChart chart = empty_bars("Memory that LazyDP adds", "history, of full-size models",
                              "% of the tables", {"history"});
  const double a_row = history_bytes_a_row(measurer);
  const std::uint64_t batch = measurer.scale().batch();
  double worst_rmc = 0.0;
  for (const std::string_view name : kModels) {
    const ModelShape shape = named_shape(name);
    const auto tables = static_cast<double>(shape.table_bytes());
    const auto history = static_cast<double>(shape.history_bytes());
    findings.sheet.add({std::string(name), cell(tables), cell(history), cell(history / tables),
                        cell(queue_bytes(shape, batch)), std::string(name_of(Standing::counted))});
    chart.groups.emplace_back(name);
    chart.series[0].bars.push_back({.value = 100.0 * history / tables});
    if (name.starts_with("rmc")) worst_rmc = std::max(worst_rmc, history / tables);
  }
  findings.pictures.push_back({"", svg_of(chart)});
  const ModelShape mlperf = named_shape("mlperf");
  findings.comparisons = {
      {"history of the default model", "751 MB, under 1 %",
       human_bytes(static_cast<double>(mlperf.history_bytes())) + ", " +
           percent(static_cast<double>(mlperf.history_bytes()) /
                   static_cast<double>(mlperf.table_bytes())),
       "the same design; the trainer that was measured keeps " + fixed(a_row, 2) + " bytes a row"},
      {"input queue", "213 KB",
       human_bytes(queue_bytes(mlperf, batch)) + " at batch " +
           with_commas(static_cast<double>(batch)),
       "row numbers and offsets of 8 bytes each, where the paper counts 4 for an id; none at all "
       "by default: rows settle when they are read, without looking ahead"},
      {"memory overhead of the RMC models", "under 3.1 %", percent(worst_rmc),
       "4 bytes to a row of 128"}};
  findings.notes.emplace_back(
      "Histories are those of full-size models: 4 bytes times rows. Queues are counted in a batch "
      "that was drawn.");
  return findings;
}

}  // namespace lazydp::paper
