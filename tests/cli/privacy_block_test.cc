// lazydp privacy with correlated noise, streams and balls in bins, as a user runs it.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

// Each sigma is that of a Gaussian mechanism, times the sensitivity, both computed apart.
TEST(PrivacyOfBlocks, NoiseIsTheReferenceTimesTheSensitivity) {
  const Workplace place;
  struct Case {
    const char* correlation;
    double sensitivity;
  };
  for (const auto& [correlation, sensitivity] :
       {Case{"independent", 2.0}, Case{"lambda:0.5", 2.3094}, Case{"lambda:0.9", 4.6061},
        Case{"bisr:16", 2.9897}}) {
    const auto json =
        place.json({"privacy", "noise", "--sampling", "stream", "--correlation", correlation,
                    "--epsilon", "3", "--delta", "1e-6", "--steps", "200", "--epochs", "4"});
    EXPECT_NEAR(json.at("sensitivity"), sensitivity, 1e-4);
    EXPECT_NEAR(json.at("noise_multiplier"), 1.54386 * sensitivity, 3e-4);
    EXPECT_EQ(json.at("separation"), 50);
    EXPECT_EQ(json.at("participations"), 4);
    EXPECT_LE(json.at("epsilon").get<double>(), 3.0);
  }
}

TEST(PrivacyOfBlocks, TheBestLambdaLeavesTheLeastNoise) {
  const Workplace place;
  const auto noise_left = [&](const std::string& correlation) {
    return place
        .json({"privacy", "noise", "--correlation", correlation, "--epsilon", "1", "--delta",
               "1e-6", "--batch", "1000", "--examples", "200000", "--epochs", "1"})
        .at("accumulated_noise")
        .get<double>();
  };
  const double best = noise_left("lambda");
  EXPECT_NEAR(best, 4.22468 * 3.238, 0.01);
  EXPECT_LT(best, noise_left("lambda:0.85"));
  EXPECT_LT(best, noise_left("lambda:0.95"));
}

TEST(PrivacyOfBlocks, AStreamIsCorrelatedUnlessToldOtherwise) {
  const Workplace place;
  const Words run = {"privacy", "epsilon", "--noise-multiplier", "3", "--steps", "200"};
  const auto with = [&](Words words) {
    words.insert(words.begin(), run.begin(), run.end());
    return place.json(words);
  };
  EXPECT_EQ(with({"--sampling", "stream"}), with({"--correlation", "lambda"}));
  EXPECT_EQ(with({"--sampling", "stream", "--correlation", "independent"}).at("sensitivity"), 1.0);
}

TEST(PrivacyOfBlocks, UnitsTakePartAsTheFlagsSay) {
  const Workplace place;
  const auto json =
      place.json({"privacy", "epsilon", "--correlation", "lambda:0.9", "--steps", "480",
                  "--unit-participations", "20", "--unit-gap", "24", "--noise-multiplier", "40"});
  EXPECT_NEAR(json.at("sensitivity"), 11.0671, 1e-4);
  EXPECT_EQ(json.at("correlation"), "lambda:0.9");
  EXPECT_EQ(json.at("participations"), 20);
}

TEST(PrivacyOfBlocks, StepsAreTheMostThatFit) {
  const Workplace place;
  const auto cost = [&](const std::string& steps) {
    return place
        .json({"privacy", "epsilon", "--correlation", "lambda:0.9", "--batch", "100", "--examples",
               "5000", "--steps", steps, "--noise-multiplier", "12"})
        .at("epsilon")
        .get<double>();
  };
  const auto json =
      place.json({"privacy", "steps", "--correlation", "lambda:0.9", "--batch", "100", "--examples",
                  "5000", "--noise-multiplier", "12", "--epsilon", "2"});
  const std::uint64_t most = json.at("steps");
  EXPECT_LE(cost(std::to_string(most)), 2.0);
  EXPECT_GT(cost(std::to_string(most + 1)), 2.0);
}

TEST(PrivacyOfBlocks, TheSentenceNamesAdjacencyAndParticipation) {
  const Ran ran = Workplace().run({"privacy", "epsilon", "--correlation", "lambda:0.9", "--steps",
                                   "200", "--epochs", "4", "--noise-multiplier", "9"});
  EXPECT_EQ(ran.code, 0);
  for (const char* text : {"200 steps, in the order of the data", "4 steps at most",
                           "50 steps apart", "lambda:0.9", "sensitivity 4.606", "zero-out"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << " in " << ran.out;
  }
}

TEST(PrivacyOfBlocks, BallsInBinsCostLessThanAStreamAndSayHowSureThatIs) {
  const Workplace place;
  const auto of = [&](const std::string& sampling) {
    return place.json({"privacy", "epsilon", "--sampling", sampling, "--correlation", "lambda:0.8",
                       "--steps", "40", "--noise-multiplier", "2"});
  };
  const auto bins = of("balls-in-bins");
  EXPECT_LT(bins.at("epsilon").get<double>(), of("stream").at("epsilon").get<double>());
  EXPECT_NEAR(bins.at("confidence"), 1 - 1e-6, 1e-12);
}

TEST(PrivacyOfBlocks, ACurveEndsWhereEpsilonIs) {
  const Workplace place;
  const Words run = {"--correlation", "lambda:0.9", "--steps", "200", "--noise-multiplier", "6"};
  Words curve = {"privacy", "curve"}, epsilon = {"privacy", "epsilon"};
  curve.insert(curve.end(), run.begin(), run.end());
  epsilon.insert(epsilon.end(), run.begin(), run.end());
  EXPECT_EQ(place.json(curve).at("curves").front().at("points").back().at("epsilon"),
            place.json(epsilon).at("epsilon"));
}

TEST(PrivacyOfBlocks, RefusesWhatDoesNotGoTogether) {
  const Workplace place;
  struct Case {
    Words words;
    const char* says;
  };
  const Words epsilon = {"privacy", "epsilon", "--noise-multiplier", "1"};
  for (const Case& bad : std::vector<Case>{
           {{"--correlation", "lambda", "--sampling", "poisson", "--steps", "9"},
            "Poisson samples"},
           {{"--sampling", "shuffled", "--steps", "9"}, "poisson, stream or balls-in-bins"},
           {{"--sampling", "stream", "--sampling-rate", "0.1", "--steps", "9"}, "nothing is drawn"},
           {{"--correlation", "lambda:1", "--steps", "9"}, "below 1"},
           {{"--correlation", "bisr:65", "--steps", "9"}, "bisr"},
           {{"--correlation", "x", "--steps", "9"}, "independent"},
           {{"--correlation", "lambda", "--steps", "9", "--epochs", "2"}, "divisor"},
           {{"--correlation", "lambda"}, "steps is missing"},
           {{"--unit-gap", "3", "--sampling-rate", "0.1", "--steps", "9"}, "--sampling stream"},
           {{"--unit-gap", "3", "--sampling", "balls-in-bins", "--steps", "9"},
            "--sampling stream"},
           {{"--unit-gap", "0", "--sampling", "stream", "--steps", "9"}, "unit-gap"},
       }) {
    Words words = epsilon;
    words.insert(words.end(), bad.words.begin(), bad.words.end());
    const Ran ran = place.run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find(bad.says), std::string::npos) << bad.says << " in " << ran.err;
  }
  const Ran steps = place.run({"privacy", "steps", "--epsilon", "1", "--noise-multiplier", "1",
                               "--correlation", "lambda", "--batch", "10", "--examples", "100"});
  EXPECT_EQ(steps.code, 2);
  EXPECT_NE(steps.err.find("lambda:0.9"), std::string::npos) << steps.err;
}

}  // namespace
}  // namespace lazydp::cli
