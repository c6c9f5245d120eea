#include "lazydp/train/weights_out.h"

#include <algorithm>
#include <string>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::size_t kFloats = std::size_t{4} << 20;  // at a time
constexpr std::size_t kFloatsOfATask = std::size_t{1} << 18;

// Row by row in order, settled, in as little memory as that takes.
void stream_table(Trainer& trainer, std::size_t table, const TensorOut::Pass& pass,
                  const std::function<void(std::uint64_t)>& progress) {
  const std::size_t dim = trainer.tables()[table].dim();
  const auto rows = static_cast<std::size_t>(trainer.tables()[table].rows());
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

}  // namespace

std::vector<TensorOut> weights_out(Trainer& trainer,
                                   const std::function<void(std::uint64_t)>& progress) {
  std::vector<TensorOut> out;
  const std::span<const float> dense = trainer.model().parameters();
  for (const NamedTensor& tensor : trainer.model().layout()) {
    std::size_t size = 1;
    for (const std::size_t extent : tensor.shape) size *= extent;
    out.push_back({tensor.name, tensor.shape, dense.subspan(tensor.first_parameter, size)});
  }
  for (std::size_t k = 0; k < trainer.tables().size(); ++k) {
    const Table& table = trainer.tables()[k];
    const auto rows = static_cast<std::size_t>(table.rows());
    TensorOut tensor{table_name(k), {rows, table.dim()}};
    if (trainer.files() != nullptr) {
      tensor.stream = [&trainer, k, progress](const TensorOut::Pass& pass) {
        stream_table(trainer, k, pass, progress);
      };
    } else {
      tensor.values = {table.weights(), rows * table.dim()};
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

std::string table_name(std::size_t table) {
  return "tables." + std::to_string(table) + ".weight";
}

}  // namespace lazydp
