#include "lazydp/noise/draw_adder.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "lazydp/base/error.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {

template <class RowOf>
void DrawAdder::pass_on(std::span<const LateRow> late, std::span<const Draw> draws,
                        RowOf&& row_of) {
  check(draws.size() <= CatchUp::kDrawsAtATime, "few draws at a time");
  std::array<NoisyRow, CatchUp::kDrawsAtATime> rows;
  std::bitset<CatchUp::kRowsAtATime> named;  // places of these rows
  std::size_t count = 0;
  const auto flush = [&] {
    keyed_.cells.add(std::span(rows).first(count), table_.dim());
    count = 0;
    named.reset();
  };
  std::uint64_t offset = 0;  // of the cell that the draw before came from: most have the same
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const Draw& draw = draws[i];
    if (i == 0 || draw.step != draws[i - 1].step || draw.kind != draws[i - 1].kind) {
      offset = cell_offset(draw.kind, draw.step);
    }
    NoisyRow row = row_of(i);
    if (row.std == 0.0f) continue;
    if (!known_ || !keyed_.hold(draw.step)) {
      flush();
      keyed_ = noise_.sharing_a_key(table_.id(), table_.whole_rows(), table_.dim(), draw.step);
      known_ = true;
    }
    // Sums of normals are added normal by normal: a row that is named twice in a call would be
    // rounded in another order than in two.
    if (keyed_.cells.normals_per_sample > 1) {
      if (named[draw.place]) flush();
      named.set(draw.place);
    }
    row.row = static_cast<std::uint64_t>(table_.first_row() + late[draw.place].id);
    row.offset = offset;
    rows[count++] = row;
  }
  flush();
}

void DrawAdder::add(std::span<const LateRow> late, std::span<const Draw> draws) {
  pass_on(late, draws, [&](std::size_t i) {
    const auto& [place, kind, step, term] = draws[i];
    const std::span<float> values = table_.row(late[place].id);
    if (term.std == 0.0f && term.shrink != 1.0f) scale(term.shrink, values);
    return NoisyRow{values.data(), 0, term.shrink, term.std};
  });
}

void DrawAdder::sample(std::span<const LateRow> late, std::span<const Draw> draws,
                       std::span<float> normals) {
  pass_on(late, draws, [&](std::size_t i) {
    return NoisyRow{normals.data() + i * table_.dim(), 0, 0.0f, 1.0f};
  });
}

}  // namespace lazydp
