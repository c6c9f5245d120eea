#include "lazydp/checkpoint/optimizer_state.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

void skip(SealedReader& file, std::uint64_t bytes) {
  constexpr std::uint64_t kAtATime = std::uint64_t{1} << 20;
  std::vector<std::byte> unwanted(std::min(bytes, kAtATime));
  while (bytes > 0) {
    const auto part = std::span(unwanted).first(std::min<std::uint64_t>(bytes, unwanted.size()));
    file.read(part);
    bytes -= part.size();
  }
}

}  // namespace

OptimizerHead head_of(DenseOptimizer& optimizer) {
  OptimizerHead head{.rule = std::string(dense_rule_name(optimizer.rule())),
                     .steps = optimizer.steps()};
  for (const std::span<float> state : optimizer.state()) head.bytes += state.size_bytes();
  return head;
}

void write_state(SealedWriter& file, DenseOptimizer& optimizer) {
  for (const std::span<float> state : optimizer.state()) file.write(std::as_bytes(state));
}

void read_state(SealedReader& file, const OptimizerHead& there, bool settled,
                DenseOptimizer& optimizer) {
  const OptimizerHead here = head_of(optimizer);
  if (there.rule == here.rule && there.bytes == here.bytes) {
    for (const std::span<float> state : optimizer.state()) {
      file.read(std::as_writable_bytes(state));
    }
    return optimizer.restore_steps(there.steps);
  }
  if (!settled || there.rule == here.rule) {
    throw UserError("the checkpoint is of another optimizer of the dense weights: " + there.rule);
  }
  skip(file, there.bytes);
}

}  // namespace lazydp
