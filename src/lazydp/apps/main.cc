// The program: chooses a verb, and turns errors into one line and an exit code.

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "lazydp/apps/command_line.h"
#include "lazydp/apps/interrupt.h"
#include "lazydp/apps/verbs.h"
#include "lazydp/apps/waiting.h"
#include "lazydp/base/error.h"

namespace lazydp::apps {
namespace {

constexpr std::array kVerbs = {
    Verb{"train", train_flags,
         "train a model on a data file or a synthetic task: progress, AUC, epsilon, speed",
         "lazydp train --algorithm lazydp --model small --epochs 10 --json run.json", train},
    Verb{"resume", resume_flags, "go on with a run that was interrupted, or train it further",
         "lazydp resume runs/first", resume, "DIR"},
    Verb{"release", release_flags, "settle every row of a run and write the model that may go out",
         "lazydp release runs/first", release, "DIR"},
    Verb{"bench steps", bench_flags, "time the steps of several algorithms, interleaved",
         "lazydp bench steps --algorithms sgd,lazydp,dpsgd-f --model mlperf --scale 0.01",
         bench_steps},
    Verb{"bench paper", paper_flags,
         "the paper's experiments on this machine: numbers, pictures, comparisons",
         "lazydp bench paper --quick --out paper", bench_paper, "[EXPERIMENT...]"},
    Verb{"convert criteo", convert_criteo_flags,
         "make a data file of Criteo logs: text, gzip or zstd, - for a pipe",
         "lazydp convert criteo day_0.gz day_1.gz train.ldp", convert_criteo, "IN... OUT"},
    Verb{"convert csv", convert_csv_flags, "make a data file of any separated text, by a schema",
         "lazydp convert csv --schema adult.toml adult.csv adult.ldp", convert_csv, "IN... OUT"},
    Verb{"generate", generate_flags, "write a synthetic task as a data file",
         "lazydp generate --synthetic click click.ldp", generate, "OUT"},
    Verb{"inspect", inspect_flags, "what is in a data file", "lazydp inspect click.ldp --verify",
         inspect, "FILE"},
    Verb{"demo", demo_flags, "SGD and LazyDP on the click task, side by side", "lazydp demo", demo},
    Verb{"privacy epsilon", privacy_flags, "epsilon of a sampling rate, noise multiplier and steps",
         "lazydp privacy epsilon --sampling-rate 0.01 --noise-multiplier 1 --steps 1000 "
         "--delta 1e-6",
         privacy_epsilon},
    Verb{"privacy noise", privacy_flags, "the least noise multiplier that stays within a budget",
         "lazydp privacy noise --epsilon 3 --batch 2048 --examples 200000 --epochs 5",
         privacy_noise},
    Verb{"privacy steps", privacy_flags, "the most steps that stay within a budget",
         "lazydp privacy steps --epsilon 3 --sampling-rate 0.01 --noise-multiplier 1",
         privacy_steps},
    Verb{"privacy delta", privacy_flags, "delta at an epsilon",
         "lazydp privacy delta --epsilon 3 --sampling-rate 0.01 --noise-multiplier 1 --steps 1000",
         privacy_delta},
    Verb{"privacy curve", privacy_flags, "epsilon over steps: a table, or a picture with --svg",
         "lazydp privacy curve --sampling-rate 0.01 --noise-multiplier 1 --steps 5000 "
         "--svg curve.svg",
         privacy_curve},
    Verb{"audit", audit_flags, "try to break the claim: a lower bound on epsilon, by experiment",
         "lazydp audit --algorithm eana", audit},
    Verb{"algorithms", no_flags, "the seven algorithms and what may be claimed for each",
         "lazydp algorithms", algorithms},
};

enum ExitCode : int { done = 0, user_error = 2, privacy = 3, io = 4, our_bug = 70 };

int complain(const std::string& message, ExitCode code) {
  std::string line = message;
  std::ranges::replace(line, '\n', ' ');
  std::cerr << "lazydp: " << line << "\n";
  return code;
}

int run(std::vector<std::string> words) {
  if (words.empty()) {
    std::cerr << overview(kVerbs);
    return user_error;
  }
  const Command command = parse_command(kVerbs, words);
  if (command.verb != nullptr) {
    command.verb->run(command.given);
  } else {
    std::cout << command.text;
  }
  std::cout.flush();
  if (!std::cout) throw IoError("cannot write to standard output");
  return done;
}

}  // namespace
}  // namespace lazydp::apps

int main(int count, char** words) {
  namespace apps = lazydp::apps;
  apps::wait_politely(words);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over its limit is then an error of writing, not an end
  try {
    return apps::run({words + 1, words + count});
  } catch (const lazydp::PrivacyError& error) {
    return apps::complain(error.what(), apps::privacy);
  } catch (const lazydp::UserError& error) {
    return apps::complain(error.what(), apps::user_error);
  } catch (const lazydp::IoError& error) {
    return apps::complain(error.what(), apps::io);
  } catch (const apps::Interrupted& stop) {
    std::cerr << "lazydp: " << stop.what() << "\n";
    return stop.exit_code;
  } catch (const std::bad_alloc&) {
    return apps::complain("memory ran out; use a smaller --scale, --rows or --batch",
                          apps::user_error);
  } catch (const std::exception& error) {
    return apps::complain(std::string("this is a bug of ours, please report it: ") + error.what(),
                          apps::our_bug);
  }
}
