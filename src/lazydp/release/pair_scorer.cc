#include "lazydp/release/pair_scorer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/model/gemm.h"
#include "lazydp/model/interaction.h"
#include "lazydp/model/mlp.h"

namespace lazydp {

bool UserPart::dense_from_one_side() const {
  return std::ranges::adjacent_find(dense, std::not_equal_to<>()) == dense.end();
}

namespace {

constexpr std::size_t kItems = 256;  // scored together: their products stay in the cache

// What users, or items, contribute to the scores of all of their pairs.
struct Side {
  Matrix vectors;             // size x (vectors of this side x dim)
  Matrix hidden;              // size x width of the top MLP's first layer, before its activation
  std::vector<float> linear;  // one for each user or item

  std::size_t size() const { return linear.size(); }
};

// Splits the model's vectors, and the first layer of its top MLP, between users and items.
class SplitPairScorer final : public PairScorer {
 public:
  SplitPairScorer(const LoadedModel& model, const UserPart& part, const Batch& items)
      : model_(model),
        shape_(model.shape()),
        bottom_(shape_.bottom_layers()),
        top_(shape_.top_layers()) {
    of_user_.push_back(part.dense.front());
    of_user_.insert(of_user_.end(), part.tables.begin(), part.tables.end());
    for (std::size_t v = 0; v < of_user_.size(); ++v) {
      (of_user_[v] ? user_vectors_ : item_vectors_).push_back(v);
    }
    take_crossing_weights();
    items_ = side_of(items, item_vectors_);
  }

  void set_users(const Batch& users) override {
    users_ = side_of(users, user_vectors_);
    const std::span<const float> bias =
        model_.parameters().subspan(top_.front().first_bias(), width());
    add_bias(bias, users_.hidden.view());
  }

  void score(std::size_t first, MatrixView logits) override {
    check(logits.cols == items_.size() && first + logits.rows <= users_.size(),
          "users and items have been set");
    const std::size_t blocks = (items_.size() + kItems - 1) / kItems;
    parallel_for(logits.rows * blocks, [&](std::size_t task) {
      const std::size_t u = task / blocks;
      const std::size_t begin = task % blocks * kItems;
      const std::size_t count = std::min(kItems, items_.size() - begin);
      score_block(first + u, begin, logits.row(u).subspan(begin, count));
    });
  }

 private:
  std::size_t width() const { return top_.front().out; }
  ConstMatrixView first_weights() const {
    const LayerShape& layer = top_.front();
    return {model_.parameters().data() + layer.first_parameter, layer.out, layer.in, layer.in};
  }

  // Gathers the weights of the dot products between a user's vector and an item's, in the order in
  // which score_block() computes these.
  void take_crossing_weights() {
    const std::size_t vectors = of_user_.size();
    const std::size_t copied = shape_.interaction_width() - vectors * (vectors - 1) / 2;
    crossing_.reshape(width(), item_vectors_.size() * user_vectors_.size());
    for (std::size_t h = 0; h < width(); ++h) {
      float* to = crossing_.row(h).data();
      for (const std::size_t item : item_vectors_) {
        for (const std::size_t user : user_vectors_) {
          const auto [less, more] = std::minmax(item, user);
          *to++ = first_weights().row(h)[copied + more * (more - 1) / 2 + less];
        }
      }
    }
  }

  // Computes what one side contributes: the other side's vectors are zero.
  Side side_of(const Batch& batch, const std::vector<std::size_t>& own) const {
    const std::size_t dim = shape_.dim;
    Matrix features(batch.size, of_user_.size() * dim);
    for (const std::size_t v : own) {
      const MatrixView vector = features.view().cols_from(v * dim, dim);
      if (v == 0) {
        run_bottom(batch, vector);
      } else {
        parallel_blocks(batch.size, kItems, [&](std::size_t begin, std::size_t end) {
          pool(model_.table(v - 1), batch.bags[v - 1], shape_.mode, begin, end,
               vector.rows_from(begin, end - begin));
        });
      }
    }
    Side side = {Matrix(batch.size, own.size() * dim), Matrix(batch.size, width()),
                 std::vector<float>(batch.size, 0.0f)};
    parallel_blocks(batch.size, kItems, [&](std::size_t begin, std::size_t end) {
      Matrix input(end - begin, shape_.interaction_width());
      interact(features.view().rows_from(begin, end - begin), dim, input.view());
      times_transpose(input.view(), first_weights(),
                      side.hidden.view().rows_from(begin, end - begin));
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t k = 0; k < own.size(); ++k) {
          const auto vector = features.row(i).subspan(own[k] * dim, dim);
          std::ranges::copy(vector, side.vectors.row(i).subspan(k * dim, dim).begin());
          if (shape_.has_linear_term() && own[k] != 0) side.linear[i] += vector.front();
        }
      }
    });
    return side;
  }

  void run_bottom(const Batch& batch, MatrixView output) const {
    parallel_blocks(batch.size, kItems, [&](std::size_t begin, std::size_t end) {
      Matrix input(end - begin, shape_.dense_features());
      for (std::size_t i = begin; i < end; ++i) {
        std::ranges::copy(batch.dense.row(i), input.row(i - begin).begin());
      }
      Mlp bottom(bottom_, Mlp::Last::relu);
      bottom.attach({.input = input.view(),
                     .output = output.rows_from(begin, end - begin),
                     .output_gradient = {},
                     .input_gradient = {}});
      bottom.forward(model_.parameters(), 0, end - begin);
    });
  }

  // A thread's buffers, which it uses again for the next block.
  struct Scratch {
    Matrix dots, hidden, output;
  };

  void score_block(std::size_t user, std::size_t begin, std::span<float> logits) const {
    thread_local Scratch scratch;
    const std::size_t count = logits.size();
    const std::size_t of_item = item_vectors_.size();
    const std::size_t of_user = user_vectors_.size();
    const std::size_t dim = shape_.dim;
    scratch.hidden.reshape(count, width());
    if (of_item > 0 && of_user > 0) {
      scratch.dots.reshape(count, of_item * of_user);
      const ConstMatrixView items = {items_.vectors.row(begin).data(), count * of_item, dim, dim};
      const ConstMatrixView users = {users_.vectors.row(user).data(), of_user, dim, dim};
      times_transpose(items, users, {scratch.dots.data(), count * of_item, of_user, of_user});
      times_transpose(scratch.dots.view(), crossing_.view(), scratch.hidden.view());
    } else {
      scratch.hidden.fill(0.0f);
    }
    const bool more_layers = top_.size() > 1;
    for (std::size_t i = 0; i < count; ++i) {
      float* const hidden = scratch.hidden.row(i).data();
      const float* const item = items_.hidden.row(begin + i).data();
      const float* const own = users_.hidden.row(user).data();
      for (std::size_t h = 0; h < width(); ++h) hidden[h] += item[h] + own[h];
      if (!more_layers) continue;
      for (std::size_t h = 0; h < width(); ++h) hidden[h] = hidden[h] < 0.0f ? 0.0f : hidden[h];
    }
    const ConstMatrixView top = more_layers ? run_rest(scratch) : scratch.hidden.view();
    for (std::size_t i = 0; i < count; ++i) {
      logits[i] =
          model_.score_scaling().of(top.row(i)[0] + items_.linear[begin + i] + users_.linear[user]);
    }
  }

  // Runs the layers of the top MLP after the first.
  ConstMatrixView run_rest(Scratch& scratch) const {
    scratch.output.reshape(scratch.hidden.rows(), 1);
    Mlp rest(std::span<const LayerShape>(top_).subspan(1), Mlp::Last::linear);
    rest.attach({.input = scratch.hidden.view(),
                 .output = scratch.output.view(),
                 .output_gradient = {},
                 .input_gradient = {}});
    rest.forward(model_.parameters(), 0, scratch.hidden.rows());
    return scratch.output.view();
  }

  const LoadedModel& model_;
  const ModelShape& shape_;
  std::vector<LayerShape> bottom_;
  std::vector<LayerShape> top_;
  std::vector<bool> of_user_;  // of every vector of the interaction: the bottom's, then the tables'
  std::vector<std::size_t> user_vectors_, item_vectors_;
  Matrix crossing_;  // width of the first layer x (item vectors x user vectors)
  Side items_;
  Side users_;
};

}  // namespace

std::unique_ptr<PairScorer> make_pair_scorer(LoadedModel& model, const UserPart& part,
                                             const Batch& items) {
  if (!part.dense_from_one_side()) return make_plain_pair_scorer(model, part, items);
  return std::make_unique<SplitPairScorer>(model, part, items);
}

}  // namespace lazydp
