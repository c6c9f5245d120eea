#include "lazydp/export/export_weights.h"

#include <algorithm>
#include <string>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::size_t kFloats = std::size_t{4} << 20;  // floats at a time
constexpr std::size_t kFloatsOfATask = std::size_t{1} << 18;

// Passes a table's rows on in order, settled, a few megabytes at a time.
void stream_table(Trainer& trainer, std::size_t table, const TensorSource::Pass& pass,
                  const std::function<void(std::uint64_t)>& progress) {
  const Table& all = trainer.state().tables[table];
  const std::size_t dim = all.dim();
  const auto rows = static_cast<std::size_t>(all.rows());
  const std::size_t at_a_time = std::max<std::size_t>(1, kFloats / dim);
  std::vector<float> values(std::min(rows, at_a_time) * dim);
  for (std::size_t first = 0; first < rows; first += at_a_time) {
    const std::size_t count = std::min(at_a_time, rows - first);
    parallel_blocks(count, std::max<std::size_t>(1, kFloatsOfATask / dim),
                    [&](std::size_t begin, std::size_t end) {
                      trainer.settled_rows(
                          table, static_cast<RowId>(first + begin),
                          std::span(values).subspan(begin * dim, (end - begin) * dim));
                    });
    pass(std::span(values).first(count * dim));
    if (progress) progress(count);
  }
}

bool cut(const Table& table) {
  return table.rows() != table.whole_rows();
}

// Calls some(first, count) with few rows of a table at a time.
template <class Some>
void in_chunks(RowId rows, std::size_t dim, Some&& some) {
  const auto most = static_cast<RowId>(std::max<std::size_t>(1, kFloats / dim));
  for (RowId first = 0; first < rows; first += most) some(first, std::min(most, rows - first));
}

std::span<const float> rows_of(const Table& table, RowId first, RowId count) {
  return {table.weights() + static_cast<std::size_t>(first) * table.dim(),
          static_cast<std::size_t>(count) * table.dim()};
}

// Passes the rows of a table that is cut on, those of other ranks as they send them.
void stream_ranks(const Table& table, CommThread& ranks, const TensorSource::Pass& pass) {
  pass(rows_of(table, 0, table.rows()));
  std::vector<float> chunk;
  for (int from = 1; from < ranks.size(); ++from) {
    RowId rows = 0;
    ranks.run(
        [&](Communicator& all) { all.receive(std::as_writable_bytes(std::span(&rows, 1)), from); });
    in_chunks(rows, table.dim(), [&](RowId, RowId count) {
      chunk.resize(static_cast<std::size_t>(count) * table.dim());
      ranks.run(
          [&](Communicator& all) { all.receive(std::as_writable_bytes(std::span(chunk)), from); });
      pass(chunk);
    });
  }
}

}  // namespace

void send_rows_to_first_rank(Trainer& trainer) {
  const TrainingState state = trainer.state();
  state.table_optimizer.require_whole();
  CommThread& ranks = state.comm;
  for (const Table& table : state.tables) {
    if (!cut(table)) continue;
    const RowId rows = table.rows();
    ranks.run([&](Communicator& all) { all.send(std::as_bytes(std::span(&rows, 1)), 0); });
    in_chunks(rows, table.dim(), [&](RowId first, RowId count) {
      ranks.run(
          [&](Communicator& all) { all.send(std::as_bytes(rows_of(table, first, count)), 0); });
    });
  }
}

std::vector<TensorSource> export_weights(Trainer& trainer,
                                         const std::function<void(std::uint64_t)>& progress) {
  const TrainingState state = trainer.state();
  state.table_optimizer.require_whole();
  std::vector<TensorSource> out;
  const std::span<const float> dense = state.model.parameters();
  for (const NamedTensor& tensor : state.model.layout()) {
    out.push_back(
        {tensor.name, tensor.shape, dense.subspan(tensor.first_parameter, tensor.size())});
  }
  for (std::size_t k = 0; k < state.tables.size(); ++k) {
    const Table& table = state.tables[k];
    const auto rows = static_cast<std::size_t>(table.whole_rows());
    TensorSource tensor{table_name(k), {rows, table.dim()}};
    if (state.storage.in_files()) {
      tensor.stream = [&trainer, k, progress](const TensorSource::Pass& pass) {
        stream_table(trainer, k, pass, progress);
      };
    } else if (cut(table)) {
      tensor.stream = [&table, &ranks = state.comm](const TensorSource::Pass& pass) {
        stream_ranks(table, ranks, pass);
      };
    } else {
      tensor.values = {table.weights(), rows * table.dim()};
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace lazydp
