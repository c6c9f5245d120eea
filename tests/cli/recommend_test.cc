// lazydp recommend and lazydp verify, as a user runs them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

std::vector<Words> table_of(const std::string& text) {
  std::istringstream lines(text);
  std::vector<Words> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Words& row = rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
  }
  return rows;
}

class ModelOfUsers : public testing::Test {
 protected:
  ModelOfUsers() {
    place_.write("s.toml", std::string("header = true\n") + kUserSchema);
    place_.write("a.csv", "user,item,y\n" + user_lines(4000));
    place_.run({"convert", "csv", "--quiet", "--schema", "s.toml", "a.csv", "a.ldp"});
    place_.run(
        {"train", "--quiet", "--data", "a.ldp", "--steps", "12", "--batch", "256", "--out", "run"});
    place_.write("users.csv", "user\nu1\nu2\nu150\n");
    std::string items = "name,item\n";
    for (int i = 0; i < 41; ++i) items += "n" + std::to_string(i) + ",i" + std::to_string(i) + "\n";
    place_.write("items.csv", items);
  }
  void refuse(const Words& words, int code, const std::string& says) const {
    const Ran ran = place_.run(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }

  Workplace place_;
  const Words recommend_ = {"recommend", "run",     "--quiet",  "--for",
                            "users.csv", "--items", "items.csv"};
};

// The oracle sorts what lazydp predict says of every pair.
TEST_F(ModelOfUsers, GetsTheItemsThatPredictScoresBest) {
  std::string pairs = "user,item,name\n";
  for (const char* user : {"u1", "u2", "u150"}) {
    for (int i = 0; i < 41; ++i) {
      pairs += std::string(user) + ",i" + std::to_string(i) + ",n" + std::to_string(i) + "\n";
    }
  }
  place_.write("pairs.csv", pairs);
  std::map<std::string, std::vector<std::pair<double, std::string>>> best;
  for (const Words& row :
       table_of(place_.run({"predict", "run", "pairs.csv", "--keep", "user,name"}).out)) {
    if (row[0] != "user") best[row[0]].emplace_back(-std::stod(row[2]), row[1]);
  }
  const Ran ran = place_.run(recommend_ + Words{"--top", "5"});
  const std::vector<Words> rows = table_of(ran.out);
  ASSERT_EQ(rows.size(), 16u) << ran.err;
  EXPECT_EQ(rows[0], (Words{"user", "name", "score"}));
  std::size_t next = 1;
  for (const char* user : {"u1", "u2", "u150"}) {
    std::ranges::stable_sort(best[user]);
    for (std::size_t i = 0; i < 5; ++i, ++next) {
      EXPECT_EQ(rows[next][0], user);
      EXPECT_NEAR(std::stod(rows[next][2]), -best[user][i].first, 1e-6);
      // Items whose scores are equal to rounding may stand in either order.
      const auto named =
          std::ranges::find(best[user], rows[next][1], &std::pair<double, std::string>::second);
      ASSERT_NE(named, best[user].end());
      EXPECT_NEAR(named->first, best[user][i].first, 1e-6);
    }
  }
}

TEST_F(ModelOfUsers, LeavesOutWhatWasSeen) {
  const std::vector<Words> all = table_of(place_.run(recommend_ + Words{"--top", "41"}).out);
  ASSERT_EQ(all.size(), 1u + 3 * 41);
  std::string seen = "y,name,user\n";
  for (std::size_t i = 1; i <= 41; i += 2) seen += "1," + all[i][1] + "," + all[i][0] + "\n";
  place_.write("seen.csv", seen + "0,n3,nobody\n1,nothing,u2\n");
  const std::vector<Words> rows =
      table_of(place_.run(recommend_ + Words{"--top", "41", "--seen", "seen.csv"}).out);
  ASSERT_EQ(rows.size(), all.size() - 21);
  for (std::size_t i = 1; i <= 20; ++i) EXPECT_EQ(rows[i], all[2 * i]);
  EXPECT_EQ(rows[21], all[42]) << "the next user has seen nothing";
  const Ran json = place_.run(recommend_ + Words{"--top", "1", "--format", "jsonl"});
  const auto first = nlohmann::json::parse(json.out.substr(0, json.out.find('\n')));
  EXPECT_EQ(first["user"], "u1");
  EXPECT_EQ(first["name"], all[1][1]);
}

TEST_F(ModelOfUsers, RefusesTextsThatDoNotDivideTheInputAndNamesTheColumn) {
  refuse({"recommend", "run", "--for", "users.csv"}, 2, "needs --for USERS and --items");
  const auto with = [this](const std::string& users, const std::string& items) {
    place_.write("users.csv", users);
    place_.write("items.csv", items);
  };
  with("user,item\nu1,i1\n", "item\ni1\n");
  refuse(recommend_, 2, "the column 'item', which the model reads, is in both texts");
  with("user\nu1\n", "name\nn1\n");
  refuse(recommend_, 2, "the column 'item', which the model reads, is in neither text");
  with("user\nu1\n", "item\n");
  refuse(recommend_, 2, "no line below the header of 'items.csv'");
  with("user\nu1,u2\n", "item\ni1\n");
  refuse(recommend_, 2, "users.csv:2: the line has 2 columns");
  with("user\nu1\n", "item\ni1\n");
  refuse(recommend_ + Words{"--top", "0"}, 2, "top is '0'");
  place_.write("seen.csv", "user\nu1\n");
  refuse(recommend_ + Words{"--seen", "seen.csv"}, 2, "'seen.csv' has no such column");
}

TEST_F(ModelOfUsers, IsVerifiedUntilItsCardClaimsLess) {
  const Ran ran = place_.run({"verify", "run"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* text : {"as they were released", "BLAKE2b-256", "recomputed", "one example",
                           "released by", "the word of its owner"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
  }
  const auto json = place_.json({"verify", "run/model"});
  EXPECT_NEAR(json["recomputed_epsilon"].get<double>(), json["claim"]["epsilon"].get<double>(),
              1e-6);
  // Both copies of the card and the hash are changed alike: only the arithmetic can tell.
  const double epsilon = json["claim"]["epsilon"].get<double>();
  const std::string before = nlohmann::json(epsilon).dump();
  std::string after = before;
  after[0] = after[0] == '1' ? '0' : '1';
  for (const char* file : {"run/model/card.json", "run/model/model.safetensors"}) {
    std::string text = contents(place_ / file);
    const std::size_t at = text.find(before);
    ASSERT_NE(at, std::string::npos);
    place_.write(file, text.replace(at, before.size(), after));
  }
  refuse({"verify", "run"}, 3, "model.safetensors was edited");
  std::string card = contents(place_ / "run/model/card.json");
  const Ran digest = place_.shell("b2sum -l 256 run/model/model.safetensors");
  card.replace(card.find("\"blake2b_256\": \"") + 16, 64, digest.out.substr(0, 64));
  place_.write("run/model/card.json", card);
  refuse({"verify", "run"}, 3, "but the steps on its ledger cost");
}

TEST(ExportOnnx, SaysWhoDoesIt) {
  const Workplace place;
  const Ran ran = place.run({"export", "onnx", "run", "model.onnx"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("lazydp.export_onnx('run', 'model.onnx')"), std::string::npos) << ran.err;
}

TEST(Verify, SaysWhyNothingIsClaimed) {
  const Workplace place;
  place.run(tiny({"train", "--quiet", "--algorithm", "sgd", "--steps", "2", "--out", "run"}));
  const Ran ran = place.run({"verify", "run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("no privacy claim"), std::string::npos) << ran.out;
  EXPECT_EQ(place.run({"verify", "nowhere"}).code, 2);
}

}  // namespace
}  // namespace lazydp::cli
