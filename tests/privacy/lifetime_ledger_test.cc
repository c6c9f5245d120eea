// The ledger of a lifetime: what is refused, what composes how, and what a crash leaves.

#include "lazydp/privacy/lifetime_ledger.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/binomial.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

constexpr double kDelta = 1e-6;

struct Place : TemporaryFolder {
  std::string file() const { return *this / "ledger.json"; }
};

LifetimeTerms terms(double epsilon, bool disjoint = false) {
  return {.budget = {epsilon, kDelta}, .disjoint_data = disjoint};
}

// A run that is mu-GDP.
Ledger gaussian(double mu) {
  Ledger ledger;
  ledger.record(Gaussian{1 / mu, 1});
  return ledger;
}

TEST(LifetimeLedger, RunsOnOneSourceAddUp) {
  Lifetime lifetime(terms(8.0));
  EXPECT_EQ(lifetime.epsilon(), 0.0);
  lifetime.reserve("a", "monday", gaussian(0.3));
  lifetime.reserve("b", "tuesday", gaussian(0.4));
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(0.5, kDelta), 1e-9);
}

TEST(LifetimeLedger, OfDisjointDataTheCostliestCounts) {
  Lifetime lifetime(terms(8.0, true));
  lifetime.reserve("a", "monday", gaussian(0.3));
  lifetime.reserve("b", "tuesday", gaussian(0.4));
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(0.4, kDelta), 1e-9);
  lifetime.reserve("c", "monday", gaussian(0.4));  // once more
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(0.5, kDelta), 1e-9);
  lifetime.reserve("d", "", gaussian(1.2));  // data without a name may be any
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(1.3, kDelta), 1e-9);
}

TEST(LifetimeLedger, AYearOfDaysCostsADay) {
  Lifetime lifetime(terms(3.0, true));
  CorrelatedGaussian day = {
      .bands = lambda_bands(0.9), .noise_multiplier = 4.0, .allowed = {100, 100, 1}, .steps = 100};
  Ledger one_day;
  one_day.record(day);
  for (int d = 0; d < 365; ++d) {
    lifetime.publish(std::to_string(d), "day " + std::to_string(d), one_day);
  }
  EXPECT_NEAR(lifetime.epsilon(), epsilon(one_day, kDelta, Accountant::pld), 1e-9);
}

TEST(LifetimeLedger, RefusesWhatExceedsTheBudgetAndChangesNothing) {
  Lifetime lifetime(terms(gaussian_epsilon(0.5, kDelta)));
  lifetime.reserve("a", "", gaussian(0.3));
  EXPECT_THROW(lifetime.reserve("b", "", gaussian(0.41)), PrivacyError);
  ASSERT_EQ(lifetime.entries().size(), 1U);
  lifetime.reserve("b", "", gaussian(0.39));
  EXPECT_LE(lifetime.epsilon(), lifetime.terms().budget.epsilon);
}

TEST(LifetimeLedger, AReservationIsReplacedByWhatWasSpent) {
  Lifetime lifetime(terms(40.0));
  Ledger planned;
  planned.record(Gaussian{2.0, 100});
  Ledger spent;
  spent.record(Gaussian{2.0, 40});
  lifetime.reserve("a", "", planned);
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(5.0, kDelta), 1e-9);
  lifetime.publish("a", "", spent);
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(std::sqrt(10.0), kDelta), 1e-9);
  // What was released stays; the run may go on.
  Ledger less;
  less.record(Gaussian{2.0, 39});
  EXPECT_THROW(lifetime.publish("a", "", less), PrivacyError);
  EXPECT_THROW(lifetime.reserve("a", "", less), PrivacyError);
  EXPECT_THROW(lifetime.withdraw("a"), PrivacyError);
  lifetime.reserve("a", "", planned);
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(5.0, kDelta), 1e-9);
  lifetime.withdraw("a");  // what it was to spend on top
  EXPECT_NEAR(lifetime.epsilon(), gaussian_epsilon(std::sqrt(10.0), kDelta), 1e-9);
}

TEST(LifetimeLedger, OnlyARunThatPublishedNothingIsWithdrawn) {
  Lifetime lifetime(terms(8.0));
  lifetime.reserve("a", "", gaussian(0.3));
  EXPECT_THROW(lifetime.withdraw("b"), UserError);
  lifetime.withdraw("a");
  EXPECT_EQ(lifetime.epsilon(), 0.0);
}

TEST(LifetimeLedger, ARunKeepsItsData) {
  Lifetime lifetime(terms(8.0, true));
  lifetime.reserve("a", "monday", gaussian(0.3));
  EXPECT_THROW(lifetime.reserve("a", "tuesday", gaussian(0.3)), PrivacyError);
}

TEST(LifetimeLedger, UnitsAreNeverDisjoint) {
  EXPECT_THROW(Lifetime({.budget = {8.0, kDelta}, .unit = "user_id", .disjoint_data = true}),
               UserError);
  EXPECT_THROW(Lifetime({.budget = {0.0, kDelta}}), UserError);
  EXPECT_THROW(Lifetime({.budget = {1.0, 1.0}}), UserError);
}

TEST(LifetimeLedger, NoiseForAYearIsTheLeastWithWhichEveryDayFits) {
  const auto planned = [](double sigma) {
    Ledger ledger;
    ledger.record(Gaussian{sigma, 16});
    return ledger;
  };
  const double sigma = noise_for_runs(terms(gaussian_epsilon(0.5, kDelta)), 365, planned);
  EXPECT_NEAR(sigma, 4 * std::sqrt(365.0) / 0.5, 1e-6 * sigma);
  Lifetime lifetime(terms(gaussian_epsilon(0.5, kDelta)));
  for (int day = 0; day < 365; ++day) lifetime.reserve(std::to_string(day), "", planned(sigma));
  EXPECT_THROW(lifetime.reserve("one more", "", planned(sigma)), PrivacyError);
}

TEST(LifetimeLedger, ComesBackFromJsonAsItWas) {
  Lifetime lifetime(terms(8.0, true));
  lifetime.publish("a", "monday", gaussian(0.3));
  lifetime.reserve("b", "tuesday", gaussian(0.4));
  const Json json = json_of(lifetime);
  EXPECT_EQ(json_of(lifetime_from(Json::parse(json.dump()))), json);
}

TEST(LifetimeLedger, RefusesDamagedFiles) {
  const Place place;
  LifetimeFile::create(place.file(), terms(8.0));
  const std::string text = read_text(place.file());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    write_text(place.file(), changed, kReadableFile);
    return LifetimeFile(place.file());
  };
  EXPECT_THROW(with("lazydp-lifetime-ledger", "lazydp-card").read(), IoError);
  EXPECT_THROW(with("\"version\": 1", "\"version\": 2").read(), IoError);
  EXPECT_THROW(with("\"runs\": []", "\"runs\": [{}]").read(), IoError);
  EXPECT_THROW(with("{", "").read(), IoError);
  EXPECT_THROW(LifetimeFile(place.file() + ".none").read(), IoError);
}

TEST(LifetimeLedger, IsNotMadeTwice) {
  const Place place;
  LifetimeFile::create(place.file(), terms(8.0));
  EXPECT_THROW(LifetimeFile::create(place.file(), terms(8.0)), UserError);
}

// Many processes enter runs at once: none is lost, and together they stay within the budget.
TEST(LifetimeLedger, ProcessesThatEnterAtOnceLoseNothing) {
  const Place place;
  constexpr int kProcesses = 8;
  constexpr int kEach = 5;
  LifetimeFile::create(place.file(), terms(gaussian_epsilon(0.1 * std::sqrt(30.5), kDelta)));
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < kEach; ++i) {
        try {
          LifetimeFile(place.file())
              .reserve(std::to_string(p) + "-" + std::to_string(i), "", gaussian(0.1));
        } catch (const PrivacyError&) {
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const Lifetime lifetime = LifetimeFile(place.file()).read();
  EXPECT_EQ(lifetime.entries().size(), 30U);  // of 40
}

// A process that is killed while it writes leaves the ledger of before or of after.
TEST(LifetimeLedger, AKilledProcessLeavesAWholeLedger) {
  const Place place;
  LifetimeFile::create(place.file(), terms(50.0));
  std::size_t before = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; ++i) {
        LifetimeFile(place.file())
            .reserve(std::to_string(round) + "-" + std::to_string(i), "", gaussian(0.01));
      }
    }
    usleep(20000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::size_t now = LifetimeFile(place.file()).read().entries().size();
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_GT(before, 0U);
}

}  // namespace
}  // namespace lazydp
