#include "lazydp/model/shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

// The message of the UserError that `act` throws.
template <class Act>
std::string refusal(Act&& act) {
  try {
    act();
  } catch (const UserError& e) {
    return e.what();
  }
  return "not refused";
}

TEST(NamedShape, HasTheSizesOfThePaper) {
  EXPECT_EQ(named_shape("mlperf").total_rows(), 187'767'399u);
  EXPECT_EQ(named_shape("mlperf").table_bytes(), 96'136'908'288u);
  EXPECT_EQ(named_shape("mlperf").history_bytes(), 751'069'596u);
  EXPECT_EQ(named_shape("kaggle").total_rows(), 33'762'577u);
  EXPECT_EQ(named_shape("kaggle").table_bytes(), 2'160'804'928u);
  for (const auto* name : {"rmc1", "rmc2", "rmc3"}) {
    EXPECT_EQ(named_shape(name).table_bytes(), 96'000'000'000u) << name;
  }
  EXPECT_EQ(named_shape("basic").table_bytes(), 106'496'000'000u);
  EXPECT_EQ(named_shape("small").total_rows(), 80'000u);
}

TEST(NamedShape, JoinsTablesAndDenseFeaturesAtTheRightWidth) {
  EXPECT_EQ(named_shape("mlperf").interaction_width(), 479u);
  EXPECT_EQ(named_shape("rmc1").interaction_width(), 87u);
  EXPECT_EQ(named_shape("rmc2").interaction_width(), 852u);
  EXPECT_EQ(named_shape("rmc3").interaction_width(), 87u);
  EXPECT_EQ(named_shape("basic").interaction_width(), 415u);
  EXPECT_EQ(named_shape("kaggle").interaction_width(), 367u);
  EXPECT_EQ(named_shape("small").interaction_width(), 52u);
  ModelShape all_vectors = named_shape("small");
  all_vectors.interaction = Interaction::concat_dot;
  EXPECT_EQ(all_vectors.interaction_width(), 9u * 16 + 36);
  all_vectors.interaction = Interaction::linear_concat_dot;  // adds to the logit, no column
  EXPECT_EQ(all_vectors.interaction_width(), 9u * 16 + 36);
}

TEST(NamedShape, HasTheDenseParametersOfItsLayers) {
  EXPECT_EQ(named_shape("mlperf").parameters(), 2'368'897u);
  EXPECT_EQ(named_shape("rmc1").parameters(), 79'649u);
  EXPECT_EQ(named_shape("rmc2").parameters(), 543'137u);
  EXPECT_EQ(named_shape("rmc3").parameters(), 1'474'337u);
  EXPECT_EQ(named_shape("basic").parameters(), 762'177u);
  EXPECT_EQ(named_shape("kaggle").parameters(), 475'985u);
  EXPECT_EQ(named_shape("small").parameters(), 5'393u);
}

TEST(NamedShape, PoolsAsInThePaper) {
  EXPECT_EQ(named_shape("mlperf").pooling, 1u);
  EXPECT_EQ(named_shape("rmc1").pooling, 80u);
  EXPECT_EQ(named_shape("rmc2").pooling, 80u);
  EXPECT_EQ(named_shape("rmc3").pooling, 20u);
  EXPECT_EQ(named_shape("small").mode, Pooling::sum);
}

TEST(NamedShape, ScalesEveryTableAndRoundsUp) {
  const ModelShape shape = named_shape("mlperf", 0.001);
  EXPECT_EQ(shape.table_rows[0], 39'885);
  EXPECT_EQ(shape.table_rows[5], 1);  // 3 rows
  EXPECT_EQ(shape.tables(), 26u);
  EXPECT_EQ(named_shape("small", 0.5).table_rows[7], 5'000);
  EXPECT_EQ(named_shape("rmc1", 2.0).table_rows[9], 150'000'000);
}

TEST(NamedShape, NamesWhatItKnowsWhenAskedForWhatItDoesNot) {
  EXPECT_EQ(refusal([] { named_shape("mlpref"); }),
            "model is mlpref; it must be one of mlperf, rmc1, rmc2, rmc3, basic, kaggle, small");
  for (const std::string_view name : model_names()) EXPECT_EQ(named_shape(name).name, name);
}

TEST(NamedShape, RefusesScalesThatMeanNothing) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, -1.0, kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_NE(refusal([&] { named_shape("small", scale); }).find("must be positive and finite"),
              std::string::npos)
        << scale;
  }
  for (const double scale : {1e9, 1e300}) {
    EXPECT_NE(refusal([&] { named_shape("small", scale); }).find("smaller scale"),
              std::string::npos);
  }
}

TEST(ModelShape, LaysLayersOneAfterAnotherBottomFirst) {
  const ModelShape shape = named_shape("small");
  std::size_t next = 0;
  for (const auto& layers : {shape.bottom_layers(), shape.top_layers()}) {
    for (const LayerShape& layer : layers) {
      EXPECT_EQ(layer.first_parameter, next);
      EXPECT_EQ(layer.first_bias(), next + layer.in * layer.out);
      next += layer.in * layer.out + layer.out;
    }
  }
  EXPECT_EQ(next, shape.parameters());
  EXPECT_EQ(shape.top_layers().front().in, shape.interaction_width());
}

// Returns the error of validate() for the small model after `change`.
template <class Change>
std::string refusal_after(Change&& change) {
  ModelShape shape = named_shape("small");
  change(shape);
  return refusal([&] { shape.validate(); });
}

TEST(ModelShape, RefusesTablesThatCannotBe) {
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.table_rows[3] = 0; }),
            "table 3 has 0 rows; a table must have at least 1 and fewer than 2^40 rows");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.table_rows[0] = -5; }),
            "table 0 has -5 rows; a table must have at least 1 and fewer than 2^40 rows");
  EXPECT_EQ(
      refusal_after([](ModelShape& s) { s.table_rows[0] = RowId{1} << 40; }),
      "table 0 has 1099511627776 rows; a table must have at least 1 and fewer than 2^40 rows");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.table_rows[0] = (RowId{1} << 40) - 1; }),
            "not refused");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.table_rows.clear(); }),
            "the model has 0 tables; it must have from 1 to 65000");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.table_rows.assign(65001, 1); }),
            "the model has 65001 tables; it must have from 1 to 65000");
  EXPECT_EQ(refusal_after([](ModelShape& s) {
              s.dim = s.bottom.back() = 4096;
              s.table_rows.assign(200, (RowId{1} << 40) - 1);
            }),
            "the tables take more than 2^60 bytes; use fewer rows, fewer tables or a smaller dim");
}

TEST(ModelShape, RefusesLayersThatCannotBe) {
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.dim = 0; }), "dim is 0; it must be from 1 to 4096");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.dim = 4097; }),
            "dim is 4097; it must be from 1 to 4096");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.bottom.back() = 17; }),
            "the bottom MLP's last width is 17; it must be dim, which is 16");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.bottom = {16}; }),
            "the bottom MLP has 1 widths; it must have at least two: the dense features and dim");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.bottom[0] = 0; }),
            "the bottom MLP has a layer of width 0; a width must be from 1 to 1048576");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.top.back() = 2; }),
            "the top MLP's last width is 2; it must be 1: the logit");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.top.clear(); }),
            "the top MLP has no layer; it must have at least one, of width 1");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.top[0] = std::size_t{1} << 63; }),
            "the top MLP has a layer of width 9223372036854775808; "
            "a width must be from 1 to 1048576");
  EXPECT_EQ(refusal_after([](ModelShape& s) {
              s.top = {1 << 20, 1 << 20, 1};
            }),
            "the MLPs have more than 2^40 parameters; use narrower layers or fewer tables");
  EXPECT_EQ(refusal_after([](ModelShape& s) { s.pooling = 0; }),
            "pooling is 0; it must be from 1 to 1000000");
}

}  // namespace
}  // namespace lazydp
