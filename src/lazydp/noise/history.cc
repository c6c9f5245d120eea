#include "lazydp/noise/history.h"

#include <algorithm>

namespace lazydp {

namespace {

constexpr std::size_t kAhead = 32;  // rows whose history is being prefetched

void claim(History& history, Step t, RowId row, std::vector<LateRow>& late) {
  const Step after = history.settled_through(row);
  if (after >= t) return;
  history.settle(row, t);
  late.push_back({row, after});
}

}  // namespace

void prefetch_ahead(const History& history, std::span<const RowId> ids) {
  for (const RowId id : ids.first(std::min(kAhead, ids.size()))) history.prefetch(id);
}

void claim_late_rows(History& history, Step t, std::span<const RowId> ids, Share share,
                     std::vector<LateRow>& late) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) history.prefetch(ids[i + kAhead]);
    if (share.owns(ids[i])) claim(history, t, ids[i], late);
  }
}

void claim_late_range(History& history, Step t, RowId first, RowId last,
                      std::vector<LateRow>& late) {
  for (RowId row = first; row < last; ++row) claim(history, t, row, late);
}

void find_late_range(const History& history, Step t, RowId first, RowId last,
                     std::vector<LateRow>& late) {
  for (RowId row = first; row < last; ++row) {
    const Step after = history.settled_through(row);
    if (after < t) late.push_back({row, after});
  }
}

}  // namespace lazydp
