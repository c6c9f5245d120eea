// Makes an example of every pair, and scores it as any other.

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/release/pair_scorer.h"

namespace lazydp {
namespace {

class PlainPairScorer final : public PairScorer {
 public:
  PlainPairScorer(LoadedModel& model, const UserPart& part, const Batch& items)
      : model_(model), part_(part), items_(&items) {}

  void set_users(const Batch& users) override { users_ = &users; }

  void score(std::size_t first, MatrixView logits) override {
    check(logits.cols == items_->size, "one column for each item");
    for (std::size_t u = 0; u < logits.rows; ++u) {
      for (std::size_t begin = 0; begin < items_->size; begin += kPairs) {
        const std::size_t end = std::min(begin + kPairs, items_->size);
        make_pairs(first + u, begin, end);
        std::ranges::copy(model_.predict(pairs_), logits.row(u).subspan(begin).begin());
      }
    }
  }

 private:
  static constexpr std::size_t kPairs = 4096;

  void make_pairs(std::size_t user, std::size_t begin, std::size_t end) {
    pairs_.size = end - begin;
    pairs_.labels.assign(pairs_.size, 0.0f);
    pairs_.dense.reshape(pairs_.size, items_->dense.cols());
    for (std::size_t i = 0; i < pairs_.size; ++i) {
      for (std::size_t k = 0; k < part_.dense.size(); ++k) {
        pairs_.dense.row(i)[k] =
            part_.dense[k] ? users_->dense.row(user)[k] : items_->dense.row(begin + i)[k];
      }
    }
    pairs_.bags.resize(items_->bags.size());
    for (std::size_t k = 0; k < pairs_.bags.size(); ++k) {
      Bags& bags = pairs_.bags[k];
      bags.clear();
      for (std::size_t i = begin; i < end; ++i) {
        const auto ids = part_.tables[k] ? users_->bags[k].of(user) : items_->bags[k].of(i);
        bags.ids.insert(bags.ids.end(), ids.begin(), ids.end());
        bags.offsets.push_back(bags.ids.size());
      }
    }
  }

  LoadedModel& model_;
  UserPart part_;
  const Batch* items_;
  const Batch* users_ = nullptr;
  Batch pairs_;
};

}  // namespace

std::unique_ptr<PairScorer> make_plain_pair_scorer(LoadedModel& model, const UserPart& part,
                                                   const Batch& items) {
  return std::make_unique<PlainPairScorer>(model, part, items);
}

}  // namespace lazydp
