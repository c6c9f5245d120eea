// Bad input: one line that says what was given and what is allowed, the right exit code, and
// nothing left behind.

#include <gtest/gtest.h>

#include <ostream>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

struct Bad {
  const char* what;
  std::vector<std::string> words;
  int code;
  std::vector<const char*> says;  // each of these occurs in the line
};

std::ostream& operator<<(std::ostream& out, const Bad& bad) {
  return out << bad.what;
}

class BadInput : public testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsRefusedInOneLineAndLeavesNothing) {
  const Bad& bad = GetParam();
  const Workplace place;
  place.write("unknown.toml", "steps = 3\nbacth = 12\n");
  place.write("broken.toml", "steps = = 3\n");
  place.write("table.toml", "[train]\nsteps = 3\n");
  place.write("beyond.toml", "steps = 3\nb\xc3\xa9 = 1\n");
  place.write("backtick.toml", "[`]\n");
  const auto before = place.files();
  const Ran ran = place.run(bad.words);
  EXPECT_EQ(ran.code, bad.code) << ran.err;
  EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
  EXPECT_EQ(ran.err.substr(0, 8), "lazydp: ");
  EXPECT_EQ(ran.out, "");
  for (const char* text : bad.says) {
    EXPECT_NE(ran.err.find(text), std::string::npos) << "no '" << text << "' in " << ran.err;
  }
  EXPECT_EQ(place.files(), before);
}

std::vector<Bad> bad_words() {
  return {
      {"UnknownVerb", {"trian"}, 2, {"trian", "did you mean train?"}},
      {"BenchOfWhat", {"bench"}, 2, {"bench steps"}},
      {"UnknownFlag", {"train", "--bacth", "3"}, 2, {"--bacth", "did you mean --batch?"}},
      {"StrayWord", {"demo", "now"}, 2, {"now", "--help"}},
      {"StrayWords", {"train", "a.ldp", "now"}, 2, {"[DATA]", "--help"}},
      {"FlagWithoutValue", {"train", "--batch"}, 2, {"--batch"}},
      {"FlagTwice", {"train", "--batch", "3", "--batch", "4"}, 2, {"--batch"}},
      {"FlagOfAnotherVerb", {"bench", "steps", "--epochs", "3"}, 2, {"--epochs"}},
      {"UnknownAlgorithm", {"train", "--algorithm", "adam"}, 2, {"adam", "lazydp", "dpsgd-f"}},
      {"UnknownModel", {"train", "--model", "big"}, 2, {"big", "mlperf", "small"}},
      {"UnknownData", {"train", "--synthetic", "clack"}, 2, {"clack", "click", "uniform"}},
      {"UnknownSchedule", {"train", "--lr-schedule", "sometimes"}, 2, {"sometimes", "linear"}},
      {"UnknownSampling", {"train", "--sampling", "all"}, 2, {"all", "poisson", "shuffled"}},
      {"UnknownAccountant", {"train", "--accountant", "hope"}, 2, {"hope", "rdp", "pld"}},
      {"UnknownSettle", {"train", "--settle", "never"}, 2, {"never", "ahead", "on-read"}},
      {"UnknownPoolingMode", {"train", "--pooling-mode", "max"}, 2, {"max", "sum", "mean"}},
      {"UnknownDenseOptimizer", {"train", "--dense-optimizer", "lion"}, 2, {"lion", "adagrad"}},
      {"AdamOnTables",
       {"train", "--table-optimizer", "adam"},
       2,
       {"it must be sgd or momentum", "waits for its noise", "--dense-optimizer adam"}},
      {"UnknownTableOptimizer",
       {"train", "--table-optimizer", "lion"},
       2,
       {"must be sgd or momentum"}},
      {"MomentumInFiles",
       {"train", "--table-optimizer", "momentum", "--table-storage", "file:tables"},
       2,
       {"kept in memory", "--table-optimizer sgd"}},
      {"EvalExamplesAlone", {"train", "--eval-examples", "10"}, 2, {"--eval-every"}},
      {"UnknownStages", {"train", "--stages", "half"}, 2, {"half", "fused"}},
      {"BenchTwice", {"bench", "steps", "--algorithms", "sgd,sgd"}, 2, {"sgd,sgd", "twice"}},
      {"BenchUnknown", {"bench", "steps", "--algorithms", "sgd,adam"}, 2, {"adam"}},
  };
}

std::vector<Bad> bad_numbers() {
  return {
      {"NotANumber", {"train", "--batch", "many"}, 2, {"batch is 'many'", "whole number"}},
      {"TrailingText", {"train", "--steps", "10k"}, 2, {"steps is '10k'"}},
      {"ZeroSteps", {"train", "--steps", "0"}, 2, {"steps is '0'", "from 1"}},
      {"ZeroBatch", {"train", "--batch", "0"}, 2, {"batch is '0'"}},
      {"BatchAboveTheData", {"train", "--batch", "200001"}, 2, {"200001", "200000"}},
      {"StepsAndEpochs",
       {"train", "--steps", "3", "--epochs", "1"},
       2,
       {"steps", "epochs", "one of"}},
      {"BatchAndRate",
       {"train", "--batch", "3", "--sampling-rate", "0.1"},
       2,
       {"batch", "sampling-rate"}},
      {"RateAboveOne", {"train", "--sampling-rate", "1.5"}, 2, {"sampling-rate is '1.5'"}},
      {"NegativeClip", {"train", "--clip-norm", "-1"}, 2, {"clip-norm is '-1'", "positive"}},
      {"NaNClip", {"train", "--clip-norm", "nan"}, 2, {"clip-norm is 'nan'"}},
      {"NegativeNoise", {"train", "--noise-multiplier", "-0.5"}, 2, {"noise-multiplier is '-0.5'"}},
      {"NaNNoise", {"train", "--noise-multiplier", "nan"}, 2, {"noise-multiplier is 'nan'"}},
      {"NoiseWithoutClipping",
       {"train", "--clip-norm", "inf", "--noise-multiplier", "1"},
       2,
       {"clip_norm is inf", "finite"}},
      {"NaNRate", {"train", "--lr", "nan"}, 2, {"lr is 'nan'"}},
      {"InfiniteRate", {"train", "--lr", "inf"}, 2, {"lr is 'inf'"}},
      {"ZeroDenseRate", {"train", "--dense-lr", "0"}, 2, {"dense-lr is '0'"}},
      {"NegativeDecay", {"train", "--weight-decay", "-1"}, 2, {"weight-decay is '-1'"}},
      {"DecayOfEverything", {"train", "--lr", "10", "--weight-decay", "1"}, 2, {"below 1"}},
      {"DeltaOfOne", {"train", "--delta", "1"}, 2, {"delta is '1'"}},
      {"NoThreads", {"train", "--threads", "0"}, 2, {"threads is '0'", "from 1"}},
      {"AbsurdThreads", {"train", "--threads", "1000000"}, 2, {"threads is '1000000'", "1024"}},
      {"NegativeSeed", {"train", "--seed", "-3"}, 2, {"seed is '-3'"}},
      {"NoRounds", {"bench", "steps", "--rounds", "0"}, 2, {"rounds is '0'"}},
      {"EpochsBeyondSteps", {"train", "--epochs", "1e18"}, 2, {"4294967294"}},
      {"EvaluationOfNothing",
       {"train", "--synthetic", "uniform", "--eval-every", "3"},
       2,
       {"eval-every", "uniform"}},
  };
}

// `words` after "privacy", with a good setting for all that they don't name.
std::vector<std::string> privacy(std::vector<std::string> words) {
  words.insert(words.begin(), "privacy");
  const auto unless_named = [&](const char* flag, const char* value) {
    if (std::ranges::find(words, flag) == words.end()) words.insert(words.end(), {flag, value});
  };
  unless_named("--sampling-rate", "0.01");
  if (words[1] != "noise") unless_named("--noise-multiplier", "1");
  if (words[1] != "steps") unless_named("--steps", "10");
  return words;
}

std::vector<Bad> bad_privacy() {
  return {
      {"PrivacyOfWhat", {"privacy"}, 2, {"epsilon", "noise", "steps", "delta", "curve"}},
      {"PrivacyNothing", {"privacy", "epsilon"}, 2, {"sampling-rate is missing", "--batch"}},
      {"PrivacyRateAboveOne", privacy({"epsilon", "--sampling-rate", "1.5"}), 2, {"'1.5'"}},
      {"PrivacyRateZero", privacy({"epsilon", "--sampling-rate", "0"}), 2, {"'0'", "above 0"}},
      {"PrivacyRateNaN", privacy({"epsilon", "--sampling-rate", "nan"}), 2, {"'nan'"}},
      {"PrivacyDeltaOne", privacy({"epsilon", "--delta", "1"}), 2, {"delta is '1'", "below 1"}},
      {"PrivacyDeltaNegative", privacy({"epsilon", "--delta", "-1e-6"}), 2, {"delta is '-1e-6'"}},
      {"PrivacyNegativeNoise",
       privacy({"epsilon", "--noise-multiplier", "-1"}),
       2,
       {"noise-multiplier is '-1'"}},
      {"PrivacyInfiniteNoise",
       privacy({"epsilon", "--noise-multiplier", "inf"}),
       2,
       {"noise-multiplier is 'inf'"}},
      {"PrivacyNegativeSteps", privacy({"epsilon", "--steps", "-5"}), 2, {"steps is '-5'"}},
      {"PrivacyHalfSteps", privacy({"epsilon", "--steps", "1.5"}), 2, {"steps is '1.5'", "whole"}},
      {"NoiseForNoSteps", privacy({"noise", "--epsilon", "1", "--steps", "0"}), 2, {"from 1"}},
      {"NoiseForNoBudget", privacy({"noise", "--epsilon", "0"}), 2, {"epsilon is '0'"}},
      {"NoiseForNaN", privacy({"noise", "--epsilon", "nan"}), 2, {"epsilon is 'nan'"}},
      {"NoiseWithoutBudget", privacy({"noise"}), 2, {"epsilon is missing"}},
      {"NoiseGiven",
       privacy({"noise", "--epsilon", "1", "--noise-multiplier", "1"}),
       2,
       {"what was asked for"}},
      {"BudgetThatNoNoiseMeets",
       privacy({"noise", "--epsilon", "1e-9", "--delta", "1e-15", "--accountant", "rdp"}),
       2,
       {"1e-09", "raise epsilon"}},
      {"BudgetThatTheLeastNoiseMeets",
       privacy({"noise", "--epsilon", "1e12"}),
       2,
       {"even a noise_multiplier of 0.001"}},
      {"BudgetOfARunThatTheLeastNoiseMeets",
       {"train", "--epsilon", "1e12", "--steps", "3"},
       2,
       {"even a noise_multiplier of 0.001"}},
      {"BudgetForMoreStepsThanThereAre",
       {"privacy", "steps", "--epsilon", "3", "--sampling-rate", "1e-12", "--noise-multiplier",
        "1000"},
       2,
       {"and for more"}},
      {"StepsWithNegativeBudget", privacy({"steps", "--epsilon", "-2"}), 2, {"epsilon is '-2'"}},
      {"PrivacyAccountant", privacy({"epsilon", "--accountant", "hope"}), 2, {"hope", "both"}},
      {"PrivacyBatchAlone",
       {"privacy", "epsilon", "--batch", "5", "--noise-multiplier", "1", "--steps", "3"},
       2,
       {"examples is missing"}},
      {"PrivacyBatchAboveExamples",
       {"privacy", "epsilon", "--batch", "5", "--examples", "4", "--noise-multiplier", "1"},
       2,
       {"batch is '5'", "4"}},
      {"CurveOfNothing", privacy({"curve", "--steps", "0"}), 2, {"steps is '0'"}},
      {"PictureOfInfinity",
       privacy({"curve", "--noise-multiplier", "0", "--svg", "x.svg"}),
       2,
       {"infinite"}},
      {"AuditOfSgd", {"audit", "--algorithm", "sgd"}, 2, {"sgd", "no noise"}},
      {"AuditOfFewRuns", {"audit", "--runs", "10"}, 2, {"runs is '10'", "from 100"}},
      {"AuditCanary", {"audit", "--canary", "yellow"}, 2, {"yellow", "rare", "repeated"}},
      {"AuditDelta", {"audit", "--delta", "1"}, 2, {"delta is '1'"}},
      {"AuditNoSteps", {"audit", "--steps", "0"}, 2, {"steps is '0'"}},
      {"PictureOfANumber", privacy({"epsilon", "--svg", "x.svg"}), 2, {"curve"}},
      {"PictureNowhere", privacy({"curve", "--svg", "nowhere/x.svg"}), 4, {"nowhere/x.svg"}},
  };
}

std::vector<Bad> bad_models() {
  return {
      {"ZeroRows", {"train", "--rows", "0"}, 2, {"rows is '0'"}},
      {"ZeroRowsOfSome", {"train", "--rows", "100,0"}, 2, {"rows is '0'"}},
      {"NegativeRows", {"train", "--rows", "-5"}, 2, {"rows is '-5'"}},
      {"RowsBeyondTheNoise", {"train", "--rows", "2000000000000"}, 2, {"2000000000000"}},
      {"RowsBeyond64Bits", {"train", "--rows", "99999999999999999999"}, 2, {"rows is"}},
      {"TooManyTables", {"train", "--rows", "999999x10"}, 2, {"999999", "65000"}},
      {"AdagradOfEana",
       {"train", "--algorithm", "eana", "--table-optimizer", "adagrad"},
       2,
       {"for eana", "--dense-optimizer adagrad"}},
      {"AdamInFiles",
       {"train", "--algorithm", "sgd", "--table-optimizer", "adam", "--table-storage", "file:t"},
       2,
       {"table-optimizer is 'adam'", "memory"}},
      {"AdamWithDecay",
       {"train", "--algorithm", "sgd", "--table-optimizer", "adam", "--weight-decay", "0.1"},
       2,
       {"weight decay"}},
      {"ZeroDim", {"train", "--dim", "0"}, 2, {"dim is '0'"}},
      {"HugeDim", {"train", "--dim", "100000"}, 2, {"dim is 100000", "4096"}},
      {"BottomEndsElsewhere", {"train", "--bottom", "13-64-8"}, 2, {"8", "16"}},
      {"TopEndsElsewhere", {"train", "--top", "64-2"}, 2, {"2", "1"}},
      {"EmptyWidth", {"train", "--bottom", "13--16"}, 2, {"bottom is ''"}},
      {"ZeroPooling", {"train", "--pooling", "0"}, 2, {"pooling is '0'"}},
      {"NegativeScale", {"train", "--scale", "-1"}, 2, {"scale is '-1'"}},
      {"NaNScale", {"train", "--scale", "nan"}, 2, {"scale is 'nan'"}},
      {"OverflowingScale", {"train", "--model", "mlperf", "--scale", "1e300"}, 2, {"2^40"}},
      {"MoreThanMemory",
       {"train", "--model", "basic", "--scale", "1000", "--json", "x.json"},
       2,
       {"106.5 TB", "bytes", "available"}},
      {"MoreThanMemoryInABench",
       {"bench", "steps", "--model", "basic", "--scale", "1000"},
       2,
       {"106.5 TB", "available"}},
      {"ActivationsBeyondMemory",
       {"train", "--model", "kaggle", "--scale", "0.001", "--top", "1048576-300000-1"},
       2,
       {"bytes", "available"}},
      {"ClickOnAnotherModel",
       {"train", "--model", "kaggle", "--scale", "0.001", "--synthetic", "click"},
       2,
       {"26 tables", "click needs", "8"}},
      {"ClickWithTooFewRows",
       {"train", "--synthetic", "click", "--scale", "0.5"},
       2,
       {"5000 rows", "10000"}},
      {"LargeClickOnTheSmallModel", {"train", "--synthetic", "click:large"}, 2, {"--scale 10"}},
      {"ClickWithPooling", {"train", "--synthetic", "click", "--pooling", "2"}, 2, {"pooling 1"}},
  };
}

std::vector<Bad> bad_files() {
  return {
      {"JsonInNoDirectory", {"train", "--json", "nowhere/x.json"}, 4, {"nowhere/x.json"}},
      {"JsonIsADirectory", {"train", "--json", "/tmp"}, 4, {"/tmp", "directory"}},
      {"JsonWithoutName", {"train", "--json", ""}, 4, {"cannot write"}},
      {"JsonOfABench", {"bench", "steps", "--json", "nowhere/x.json"}, 4, {"nowhere/x.json"}},
      {"JsonOfTheDemo", {"demo", "--json", "nowhere/x.json"}, 4, {"nowhere/x.json"}},
      {"NoConfig", {"train", "--config", "none.toml"}, 4, {"none.toml"}},
      {"ConfigIsADirectory", {"train", "--config", "/tmp"}, 4, {"/tmp"}},
      {"UnknownKey",
       {"train", "--config", "unknown.toml"},
       2,
       {"unknown.toml", "bacth", "did you mean batch?"}},
      {"BrokenConfig", {"train", "--config", "broken.toml"}, 2, {"broken.toml", "line 1"}},
      {"ConfigBeyondAscii", {"train", "--config", "beyond.toml"}, 2, {"beyond.toml", "line 2"}},
      {"ConfigWithABacktick",
       {"train", "--config", "backtick.toml"},
       2,
       {"backtick.toml", "line 1"}},
      {"ConfigWithSections", {"train", "--config", "table.toml"}, 2, {"table.toml", "train"}},
  };
}

std::string name_of(const testing::TestParamInfo<Bad>& info) {
  return info.param.what;
}

INSTANTIATE_TEST_SUITE_P(Words, BadInput, testing::ValuesIn(bad_words()), name_of);
INSTANTIATE_TEST_SUITE_P(Numbers, BadInput, testing::ValuesIn(bad_numbers()), name_of);
INSTANTIATE_TEST_SUITE_P(Privacy, BadInput, testing::ValuesIn(bad_privacy()), name_of);
INSTANTIATE_TEST_SUITE_P(Models, BadInput, testing::ValuesIn(bad_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Files, BadInput, testing::ValuesIn(bad_files()), name_of);

}  // namespace
}  // namespace lazydp::cli
