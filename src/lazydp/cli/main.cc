// The program's entry point: runs a verb, and turns errors into one line and an exit code.

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/cli/command_line.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/process.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/cli/words_for_shells.h"
#include "lazydp/shard/launch.h"

namespace lazydp::cli {
namespace {

void completion(const FlagTexts& given);  // these two read the table below, which lists them
void manual(const FlagTexts& given);

constexpr std::array kVerbs = {
    Verb{"train", train_flags,
         "train a model on a data file or a synthetic task: progress, AUC, epsilon, speed",
         "lazydp train --algorithm lazydp --model small --epochs 10 --json run.json", train,
         "[DATA]", Ranks::several},
    Verb{"resume", resume_flags, "go on with a run that was interrupted, or train it further",
         "lazydp resume runs/first", resume, "DIR", Ranks::several},
    Verb{"release", release_flags, "settle every row of a run and write the model that may go out",
         "lazydp release runs/first", release, "DIR", Ranks::several},
    Verb{"compare", compare_flags,
         "several runs side by side: what differs in their settings, and what came of it",
         "lazydp compare runs/first runs/second --html comparison.html", compare, "RUN..."},
    Verb{"eval", eval_flags, "how well a released model does on a data file",
         "lazydp eval runs/first test.ldp", eval, "MODEL DATA"},
    Verb{"predict", predict_flags,
         "scores of a released model, in the data's order: of a data file, or of text, which needs "
         "no label",
         "lazydp predict runs/first today.csv --keep user,item > scores.csv", predict,
         "MODEL DATA"},
    Verb{"recommend", recommend_flags,
         "the items that score best for each user; the first columns of both texts are their ids",
         "lazydp recommend runs/first --for users.csv --items items.csv --top 20", recommend,
         "MODEL"},
    Verb{"export onnx", no_flags, "how to make an ONNX graph of a released model",
         "lazydp export onnx runs/first model.onnx", export_onnx, "MODEL FILE"},
    Verb{"export int8", export_int8_flags,
         "a released model with its tables in eight bits a weight, and what that costs",
         "lazydp export int8 runs/first small --data test.ldp", export_int8, "MODEL FOLDER"},
    Verb{"verify", verify_flags,
         "recompute epsilon from a released model's card, check its weights, say what is claimed",
         "lazydp verify runs/first", verify, "MODEL"},
    Verb{"bench steps", bench_flags, "time the steps of several algorithms, interleaved",
         "lazydp bench steps --algorithms sgd,lazydp,dpsgd-f --model mlperf --scale 0.01",
         bench_steps},
    Verb{
        "sweep", sweep_flags,
        "train every point of a grid (flags in TOML, lists are what to try); goes on where it was; "
        "choosing among the rows by hand is not paid for: see lazydp tune",
        "lazydp sweep grid.toml results.csv --runs 3", sweep, "GRID CSV"},
    Verb{"tune", tune_flags,
         "search a grid for the best model; epsilon pays for the choice; goes on where it was",
         "lazydp tune --grid grid.toml --data click.ldp --epsilon 8 --out search", tune},
    Verb{"bench paper", paper_flags,
         "the paper's experiments on this machine: numbers, pictures, comparisons",
         "lazydp bench paper --quick --out paper", bench_paper, "[EXPERIMENT...]"},
    Verb{"convert criteo", convert_criteo_flags,
         "make a data file of Criteo logs: text, gzip or zstd, - for a pipe",
         "lazydp convert criteo day_0.gz day_1.gz train.ldp", convert_criteo, "IN... OUT"},
    Verb{"convert csv", convert_csv_flags, "make a data file of any separated text, by a schema",
         "lazydp convert csv --schema adult.toml adult.csv adult.ldp", convert_csv, "IN... OUT"},
    Verb{"convert jsonl", convert_jsonl_flags,
         "make a data file of JSON lines, an object a line, by a schema",
         "lazydp convert jsonl --schema ratings.toml ratings.jsonl.gz ratings.ldp", convert_jsonl,
         "IN... OUT"},
    Verb{"convert parquet", convert_parquet_flags, "make a data file of Parquet files, by a schema",
         "lazydp convert parquet --schema ratings.toml ratings.parquet ratings.ldp",
         convert_parquet, "IN... OUT"},
    Verb{"generate", generate_flags, "write a synthetic task as a data file",
         "lazydp generate --synthetic click click.ldp", generate, "OUT"},
    Verb{"inspect", inspect_flags, "what is in a data file, a run's folder or a released model",
         "lazydp inspect click.ldp --verify", inspect, "FILE"},
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
    Verb{"ledger", ledger_flags,
         "the ledger of all runs on a source of data: what they may spend together, and have",
         "lazydp ledger clicks.json --epsilon 8 --delta 1e-7", ledger, "FILE"},
    Verb{"audit", audit_flags, "try to break the claim: a lower bound on epsilon, by experiment",
         "lazydp audit --algorithm eana", audit},
    Verb{"algorithms", no_flags, "the seven algorithms and what may be claimed for each",
         "lazydp algorithms", algorithms},
    Verb{"completion", no_flags, "a script that completes these words in a shell",
         "lazydp completion bash > lazydp.bash", completion, "bash|zsh|fish"},
    Verb{"manual", no_flags, "write the manual as man pages to a folder", "lazydp manual man1",
         manual, "DIR"},
};

void completion(const FlagTexts& given) {
  std::cout << completion_script(given.operands.front(), kVerbs);
}

void manual(const FlagTexts& given) {
  const std::string& folder = given.operands.front();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw IoError("cannot make the folder " + folder + ": " + failed.message());
  for (const ManualPage& page : manual_pages(kVerbs)) {
    OutputFile(folder + "/" + page.file).write(page.text);
  }
}

enum ExitCode : int { done = 0, user_error = 2, privacy = 3, io = 4, our_bug = 70 };

int complain(const std::string& message, ExitCode code) {
  std::string line = message;
  std::ranges::replace(line, '\n', ' ');
  const Launched here = launched();
  if (here.rank > 0) {
    // Rank 0 may print the same, and ends all ranks: by SIGTERM, which a run survives until it has
    // saved itself, then by SIGKILL, which a launcher sends a second or two later.
    std::this_thread::sleep_for(std::chrono::seconds(5));
    line = "rank " + std::to_string(here.rank) + ": " + line;
  }
  std::cerr << coloured("lazydp:", Colour::error, may_colour(STDERR_FILENO)) << " " << line << "\n";
  end_all_ranks(code);
  return code;
}

int run(std::vector<std::string> words) {
  if (words.empty()) {
    std::cerr << overview(kVerbs);
    return user_error;
  }
  const Command command = parse_command(kVerbs, words);
  if (command.verb != nullptr) {
    if (command.verb->ranks == Ranks::one) require_one_rank(command.verb->name);
    command.verb->run(command.given);
  } else if (launched().rank == 0) {
    std::cout << with_headings(command.text, may_colour(STDOUT_FILENO));
  }
  std::cout.flush();
  if (!std::cout) throw IoError("cannot write to standard output");
  leave_ranks();
  return done;
}

}  // namespace
}  // namespace lazydp::cli

// Prevents core dumps: the key, rows whose noise is still owed and the data are in memory.
static void leave_no_core_dump() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these read the process
  prctl(PR_SET_DUMPABLE, 0);
#endif
}

int main(int count, char** words) {
  namespace cli = lazydp::cli;
  leave_no_core_dump();
  cli::limit_openmp_spinning(words);
  cli::explain_bus_errors(cli::io);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over its size limit is then a write error
  try {
    return cli::run({words + 1, words + count});
  } catch (const lazydp::PrivacyError& error) {
    return cli::complain(error.what(), cli::privacy);
  } catch (const lazydp::UserError& error) {
    return cli::complain(error.what(), cli::user_error);
  } catch (const lazydp::IoError& error) {
    return cli::complain(error.what(), cli::io);
  } catch (const cli::Interrupted& stop) {
    if (lazydp::launched().rank == 0) std::cerr << "lazydp: " << stop.what() << "\n";
    cli::leave_ranks();  // all ranks have agreed to stop
    return stop.exit_code;
  } catch (const std::bad_alloc&) {
    return cli::complain("memory ran out; use a smaller --scale, --rows or --batch",
                         cli::user_error);
  } catch (const std::exception& error) {
    return cli::complain(std::string("this is a bug of ours, please report it: ") + error.what(),
                         cli::our_bug);
  }
}
