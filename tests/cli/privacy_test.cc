// lazydp privacy, as a user runs it.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// q = 1 has a closed form: a Gaussian of multiplier sigma / sqrt(steps) (Balle, Wang 2018).
double gaussian_delta(double sigma, double steps, double epsilon) {
  const double mu = std::sqrt(steps) / sigma;
  const auto phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  return phi(mu / 2 - epsilon / mu) - std::exp(epsilon) * phi(-mu / 2 - epsilon / mu);
}

TEST(PrivacyVerb, EpsilonIsTheReferenceValueByEachAccountant) {
  const Workplace place;
  const Words setting = {
      "privacy", "epsilon", "--sampling-rate", "0.01", "--noise-multiplier", "0.7",
      "--steps", "120",     "--delta",         "1e-5"};
  const auto pld = place.json(setting);
  EXPECT_NEAR(pld.at("epsilon"), 2.4612381, 2e-4);
  EXPECT_EQ(pld.at("accountant"), "pld");
  EXPECT_EQ(pld.at("sampling_rate"), 0.01);
  EXPECT_EQ(pld.at("noise_multiplier"), 0.7);
  EXPECT_EQ(pld.at("steps"), 120);
  EXPECT_EQ(pld.at("delta"), 1e-5);
  EXPECT_EQ(pld.size(), 6U);

  EXPECT_NEAR(place.json(with(setting, {"--accountant", "rdp"})).at("epsilon"), 3.2391922, 2e-4);
  const auto both = place.json(with(setting, {"--accountant", "both"}));
  EXPECT_EQ(both.at("epsilon"), pld.at("epsilon"));
  EXPECT_NEAR(both.at("beside").at("epsilon"), 3.2391922, 2e-4);
}

TEST(PrivacyVerb, SaysASentenceThatNamesAdjacencyAndRoundsUp) {
  const Ran ran =
      Workplace().run({"privacy", "epsilon", "--sampling-rate", "0.01", "--steps", "120",
                       "--noise-multiplier", "0.7", "--delta", "1e-5", "--accountant", "both"});
  EXPECT_EQ(ran.code, 0);
  for (const char* text : {"epsilon 2.4613", "delta 1e-05", "adding or removing one example",
                           "pld accountant", "epsilon 3.2392", "rdp accountant", "120 steps"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << " in " << ran.out;
  }
}

TEST(PrivacyVerb, BatchAndEpochsSayTheSameAsRateAndSteps) {
  const Workplace place;
  const auto a = place.json({"privacy", "epsilon", "--batch", "2000", "--examples", "200000",
                             "--epochs", "3", "--noise-multiplier", "1"});
  const auto b = place.json({"privacy", "epsilon", "--sampling-rate", "0.01", "--steps", "300",
                             "--noise-multiplier", "1"});
  EXPECT_EQ(a, b);
}

TEST(PrivacyVerb, WithoutNoiseEpsilonIsInfiniteAndSaysSo) {
  const Workplace place;
  const Words setting = {"privacy", "epsilon", "--sampling-rate",    "0.01",
                         "--steps", "10",      "--noise-multiplier", "0"};
  const auto json = place.json(setting);
  EXPECT_TRUE(json.at("epsilon").is_null());
  EXPECT_NE(json.at("reason").get<std::string>().find("without noise"), std::string::npos);
  EXPECT_NE(place.run(setting).out.find("epsilon infinite"), std::string::npos);
}

TEST(PrivacyVerb, NoStepsCostNothing) {
  const auto json = Workplace().json(
      {"privacy", "epsilon", "--sampling-rate", "0.01", "--steps", "0", "--noise-multiplier", "1"});
  EXPECT_EQ(json.at("epsilon"), 0.0);
}

// Against the closed form, not against our own accountant.
TEST(PrivacyVerb, NoiseIsRightToOneInTenThousandAndNeverTooLittle) {
  const Workplace place;
  for (const char* target : {"0.2", "1", "7"}) {
    const auto json = place.json({"privacy", "noise", "--epsilon", target, "--delta", "1e-6",
                                  "--sampling-rate", "1", "--steps", "10"});
    const double noise = json.at("noise_multiplier");
    EXPECT_LE(json.at("epsilon").get<double>(), std::stod(target));
    EXPECT_LE(gaussian_delta(noise, 10, std::stod(target)), 1e-6) << target;
    EXPECT_GT(gaussian_delta(noise / (1 + 2e-4), 10, std::stod(target)), 1e-6) << target;
  }
}

TEST(PrivacyVerb, StepsAreTheMostThatFit) {
  const Workplace place;
  const auto json = place.json({"privacy", "steps", "--epsilon", "2", "--delta", "1e-6",
                                "--sampling-rate", "1", "--noise-multiplier", "20"});
  const double steps = json.at("steps");
  EXPECT_LE(gaussian_delta(20, steps, 2), 1e-6);
  EXPECT_GT(gaussian_delta(20, steps + 1, 2), 1e-6);
  EXPECT_EQ(place
                .json({"privacy", "steps", "--epsilon", "2", "--sampling-rate", "1",
                       "--noise-multiplier", "0"})
                .at("steps"),
            0);
}

TEST(PrivacyVerb, DeltaIsTheClosedFormOfAGaussian) {
  const auto json = Workplace().json({"privacy", "delta", "--epsilon", "1", "--sampling-rate", "1",
                                      "--noise-multiplier", "1.7320508", "--steps", "3"});
  EXPECT_NEAR(json.at("delta"), gaussian_delta(1.7320508, 3, 1), 1e-6);
}

TEST(PrivacyVerb, ACurveRisesAndEndsWhereEpsilonIs) {
  const Workplace place;
  const Words mechanism = {"--sampling-rate", "0.02", "--noise-multiplier", "1.1",
                           "--steps",         "500"};
  const auto curves = place.json(with({"privacy", "curve"}, mechanism)).at("curves");
  ASSERT_EQ(curves.size(), 2U);
  for (const auto& curve : curves) {
    double before = 0.0;
    for (const auto& point : curve.at("points")) {
      EXPECT_GT(point.at("epsilon").get<double>(), before);
      before = point.at("epsilon");
    }
    const std::string accountant = curve.at("accountant");
    EXPECT_EQ(
        before,
        place.json(with(with({"privacy", "epsilon"}, mechanism), {"--accountant", accountant}))
            .at("epsilon"));
    EXPECT_EQ(curve.at("points").back().at("steps"), 500);
    EXPECT_EQ(curve.at("points").front().at("steps"), 1);
  }
}

TEST(PrivacyVerb, ThePictureStandsOnItsOwn) {
  const Workplace place;
  const Ran ran = place.run({"privacy", "curve", "--sampling-rate", "0.02", "--noise-multiplier",
                             "1.1", "--steps", "500", "--svg", "curve.svg"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("500"), std::string::npos) << "the table is printed too";
  const std::string svg = contents(place / "curve.svg");
  for (const char* text :
       {"<svg xmlns", "</svg>", ">steps<", ">ε<", ">pld ", ">rdp ", "polyline"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  for (const char* text : {"href", "<script", "<image", "url(", "nan", "inf"}) {
    EXPECT_EQ(svg.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lazydp::cli
