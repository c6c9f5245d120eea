// The table of all flags.

#include <array>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/verb_sets.h"

namespace lazydp::cli {

namespace {

constexpr std::string_view kModel = "Model";
constexpr std::string_view kData = "Data";
constexpr std::string_view kTraining = "Training";
constexpr std::string_view kPrivacy = "Privacy";
constexpr std::string_view kRun = "Run";
constexpr std::string_view kFiles = "Files";

using G = FlagTexts;
constexpr std::array kFlags = {
    Flag{"--algorithm", &G::algorithm, kTrain | kAudit, "NAME", kTraining,
         "one of `lazydp algorithms`; lazydp"},
    Flag{"--algorithms", &G::algorithms, kBench, "A,B,...", kTraining,
         "the contenders; those of one backward pass"},

    Flag{"--canary", &G::canary, kAudit, "rare|repeated|person", kTraining,
         "the example that is looked for: rare ids, one id many times in a bag, or a person with "
         "several examples, who is the unit; rare"},
    Flag{"--one-run", &G::one_run, kAudit, "", kTraining,
         "train one model of full size instead, on the click task, with many canaries in or out"},
    Flag{"--canaries", &G::canaries, kAudit, "N", kTraining,
         "of --one-run, each in with probability 1/2; 32768"},
    Flag{"--runs", &G::runs, kAudit, "N", kTraining,
         "tiny models to train with the canary, and as many without; 20000"},
    Flag{"--runs", &G::runs, kSweep, "N", kTraining,
         "of each point, each under a fresh secret seed; 1"},

    Flag{"--grid", &G::grid, kTune, "FILE", kTraining,
         "the candidates: TOML with flags of lazydp train as keys, lists are what to try; public"},
    Flag{"--trials-mean", &G::trials_mean, kTune, "M", kTraining,
         "trials expected; how many there are is drawn in secret; 10"},
    Flag{"--trials-eta", &G::trials_eta, kTune, "ETA", kTraining,
         "shape of that draw, from -0.5 to 1 (geometric): the smaller the cheaper, and the more "
         "often few trials; 0"},

    Flag{"--model", &G::model, kShapes, "NAME", kModel,
         "small, mlperf, rmc1, rmc2, rmc3, basic or kaggle; small"},
    Flag{"--scale", &G::scale, kShapes, "S", kModel, "rows of each table = ceil(S x rows); 1"},
    Flag{"--rows", &G::rows, kShapes | convert_criteo_flags, "LIST", kModel,
         "rows of each table instead: 1000,2000 or 26x10000"},
    Flag{"--dim", &G::dim, kRuns, "N", kModel, "width of a row instead"},
    Flag{"--bottom", &G::bottom, kShapes, "WIDTHS", kModel,
         "bottom MLP instead, dense features first, dim last: 13-64-16"},
    Flag{"--top", &G::top, kRuns, "WIDTHS", kModel, "top MLP instead, 1 last: 64-1"},
    Flag{"--pooling", &G::pooling, kShapes, "N", kModel, "look-ups in a bag instead"},
    Flag{"--pooling-mode", &G::pooling_mode, kRuns, "sum|mean", kModel,
         "how a bag becomes a vector; sum"},
    Flag{"--interaction", &G::interaction, kRuns, "dot|cat+dot|linear+cat+dot", kModel,
         "what the top MLP sees: dot products of all pairs of vectors, and the bottom MLP's output "
         "or all vectors; linear: the first number of a row also acts on the score directly; "
         "linear+cat+dot for --data, else dot"},
    Flag{
        "--init", &G::init, kTrain | release_flags, "DIR|FILE", kModel,
        "begin with the weights of a released model, or of a file of such weights, in the place of "
        "random ones; what it has spent counts (to go on with a run: where it lies now)"},
    Flag{"--init-is-public", &G::init_is_public, kTrain, "", kModel,
         "whoever sees the initial model learns nothing of your data from it: you say so, and the "
         "card repeats it"},
    Flag{"--freeze", &G::freeze, kTrain, "tables|dense|NAME,...", kModel,
         "parts that keep their weights, with neither gradient nor noise: all tables, all MLPs, "
         "bottom, top, a layer (top.0), a table (tables.3) or a column"},

    Flag{"--synthetic", &G::synthetic, kShapes | kTune, "DATA", kData,
         "click, click:large, uniform, zipf:S or skew:36|10|0.6; click for small, else uniform"},
    Flag{
        "--data", &G::data, kTrain | release_flags | kTune, "FILE", kData,
        "a data file that lazydp convert or generate made, instead of --synthetic; to go on with a "
        "run, where it lies now"},
    Flag{"--data", &G::data, export_int8_flags, "FILE", kData,
         "a data file: say which AUC and log-loss the model has on it before and after"},
    Flag{
        "--test", &G::test, kTrain | kScores | kTune, "SHARE|FILE", kData,
        "what the model is judged on at the end: a share of the data, or another file; 0.1 (lazydp "
        "eval, predict, export: only that share; all)"},
    Flag{"--validation", &G::validation, kTrain, "SHARE|FILE", kData,
         "what it is judged on while training; the test part"},
    Flag{"--validation", &G::validation, kTune, "SHARE", kData,
         "share of the data that candidates are scored on, and none is trained on; 0.1"},
    Flag{
        "--split-by", &G::split_by, kTrain | kScores | kTune, "position|COLUMN", kData,
        "shares are chosen by a hash of an example's position in the file, or of a key column: all "
        "examples of a value are then on one side; position"},
    Flag{"--group-by", &G::group_by, kTrain | eval_flags, "COLUMN|none", kData,
         "a key column: beside AUC show GAUC, the mean of the AUCs within its values, weighted by "
         "their examples, NDCG@K and recall@K; the column of --privacy-unit"},
    Flag{"--cutoff", &G::cutoff, kTrain | eval_flags, "K", kData,
         "of NDCG and recall: how many of a group's best-scored examples they look at; 10"},
    Flag{"--schema", &G::schema, kConvert, "FILE", kData,
         "what the columns are: TOML, or a data file whose schema is taken"},
    Flag{"--guess", &G::guess, kCsv, "", kData,
         "write a first schema for IN to OUT instead; look at it before you use it"},
    Flag{"--join", &G::join, kCsv, "FILE:COLUMN", kData,
         "add the columns of a second file, held in memory, to every line: by a column that both "
         "name so; they are the schema's last columns"},
    Flag{"--salt", &G::salt, kConvert, "N", kData,
         "of the public hash from values to rows; 0, or what the schema says"},
    Flag{"--min-count", &G::min_count, kConvertText, "N", kData,
         "values that occur so often get rows of their own, all others share one: learned from the "
         "data, and not covered by epsilon; off"},
    Flag{"--max-bad-lines", &G::max_bad_lines, kConvert, "N", kData,
         "how many lines may be left out; 0"},
    Flag{
        "--examples", &G::examples, kCosts | kGenerate, "N", kData,
        "how many there are, with --batch; treated as public (lazydp generate: to write; 1000000)"},
    Flag{"--keep", &G::keep, predict_flags, "COLUMN,...", kData,
         "columns of a text that are printed before its scores"},
    Flag{"--format", &G::format, predict_flags, "csv|jsonl", kFiles,
         "of the scores; one bare score a line, or csv if columns are kept"},
    Flag{"--format", &G::format, recommend_flags, "csv|jsonl", kFiles, "of the scores; csv"},
    Flag{"--for", &G::users, recommend_flags, "FILE", kData,
         "a text with one line for each user: an id, and the user's columns of the schema"},
    Flag{"--items", &G::items, recommend_flags, "FILE", kData,
         "the same of the items, with the schema's other columns"},
    Flag{"--top", &G::top_items, recommend_flags, "N", kData, "items for each user; 10"},
    Flag{"--seen", &G::seen, recommend_flags, "FILE", kData,
         "a text, a log perhaps, with the columns that name users and items: what a user has seen "
         "is left out"},
    Flag{"--show", &G::show, kInspect, "N", kData, "print the first examples; 0"},
    Flag{"--verify", &G::verify, kInspect, "", kData, "read and check every page"},
    Flag{"--sampling", &G::sampling, kTrain, "poisson|shuffled|stream|balls-in-bins", kData,
         "how batches are drawn: anew in each step; a permutation in each epoch, which claims no "
         "epsilon; in the order of the data, which draws nothing; or each example once for all "
         "epochs; poisson; for sgd without --privacy-unit shuffled"},
    Flag{"--sampling", &G::sampling, kCosts, "poisson|stream|balls-in-bins", kData,
         "how an example comes to its steps: drawn anew for each; by its place in the data; or in "
         "one secret step of every pass; poisson, or stream if there is a --correlation"},
    Flag{"--sampling-rate", &G::sampling_rate, kMechanism | kAudit, "Q", kData,
         "probability that an example joins a step; instead of --batch (lazydp audit: 1)"},
    Flag{"--batch", &G::batch, kRuns | kCosts, "N", kData, "expected examples in a step"},
    Flag{"--steps", &G::steps, kMechanism | kAudit, "N", kData, "how many steps to train"},
    Flag{"--epochs", &G::epochs, kMechanism, "X", kData,
         "instead of --steps: passes over the data"},
    Flag{"--more-steps", &G::more_steps, resume_flags, "N", kData,
         "instead of --steps, which counts from the run's beginning: so many after those taken",
         false},
    Flag{"--more-epochs", &G::more_epochs, resume_flags, "X", kData,
         "the same in passes over the data", false},

    Flag{"--lr", &G::lr, kTrain, "RATE", kTraining, "learning rate of the tables"},
    Flag{"--learning-rate", &G::lr, kTrain, "RATE", kTraining, "another name of --lr", false},
    Flag{"--dense-lr", &G::dense_lr, kTrain, "RATE", kTraining, "learning rate of the MLPs"},
    Flag{"--lr-schedule", &G::lr_schedule, kTrain | kAudit, "SCHEDULE", kTraining,
         "constant, linear, poly:POWER, cosine or step:EVERY:FACTOR, each optionally after "
         "warmup:STEPS,"},
    Flag{"--dense-optimizer", &G::dense_optimizer, kTrain, "sgd|momentum|adam|adagrad", kTraining,
         "of the MLPs, whose noise never waits: any is exact; adam for --data, else sgd"},
    Flag{"--table-optimizer", &G::table_optimizer, kTrain, "sgd|momentum|adam|adagrad", kTraining,
         "of the tables; the last two for --algorithm sgd alone, where no noise waits; sgd"},
    Flag{"--positive-weight", &G::positive_weight, kTrain, "W", kTraining,
         "a positive counts as W examples, in the loss that is trained on and in log-loss, "
         "normalised entropy and calibration: for labels of which few are positive; 1"},
    Flag{"--positive-weight", &G::positive_weight, eval_flags, "W", kData,
         "a positive counts as W examples in log-loss, normalised entropy and calibration; 1"},
    Flag{"--weight-decay", &G::weight_decay, kTrain, "X", kTraining, "of table rows; 0"},

    Flag{"--clip-norm", &G::clip_norm, kTrain, "C", kPrivacy,
         "no example's gradient is longer than this"},
    Flag{"--clip-schedule", &G::clip_schedule, kTrain, "SCHEDULE", kPrivacy,
         "of the clip norm, as --lr-schedule; constant"},
    Flag{"--noise-multiplier", &G::noise_multiplier, kMechanism, "SIGMA", kPrivacy,
         "standard deviation of the noise, in clip norms"},
    Flag{"--noise-schedule", &G::noise_schedule, kTrain, "SCHEDULE", kPrivacy,
         "of the noise multiplier, as --lr-schedule; constant"},
    Flag{"--noise-draws", &G::noise_draws, kRuns, "N", kPrivacy,
         "normals that add up to one, against attacks on floating-point noise: 1, or 4 as Opacus' "
         "secure mode; 1"},
    Flag{
        "--epsilon", &G::epsilon, kMechanism | kAudit, "E", kPrivacy,
        "the budget: chooses the noise multiplier or, if that is given, stops before exceeding it"},
    Flag{"--epsilon", &G::epsilon, kLedger, "E", kPrivacy,
         "the budget of all runs together; makes the file"},
    Flag{"--epsilon", &G::epsilon, kTune, "E", kPrivacy,
         "the budget of the whole search: chooses the noise multiplier of every candidate"},
    Flag{"--score-bound", &G::score_bound, kTune, "B", kPrivacy,
         "no example's log-loss counts for more in a score; 4"},
    Flag{"--score-noise", &G::score_noise, kTune, "SIGMA", kPrivacy,
         "standard deviation of a score's noise, in what one example or unit can move it; so much "
         "that a score alone would cost a tenth of epsilon"},
    Flag{"--delta", &G::delta, kMechanism | kAudit | kTune | kLedger, "D", kPrivacy,
         "at which epsilon is stated, below 1 / examples; at most 1e-6"},
    Flag{"--force", &G::force, kMechanism | release_flags | kTune, "", kPrivacy,
         "take a delta that is not below 1 / examples, which allows giving a person's data away"},
    Flag{"--accountant", &G::accountant, kMechanism, "rdp|pld", kPrivacy,
         "computes epsilon; pld (lazydp privacy: also both)"},
    Flag{"--privacy-unit", &G::privacy_unit, kTrain | kTune | kLedger, "example|COLUMN", kPrivacy,
         "what is protected: an example, or all examples of one value of a key column; example"},
    Flag{
        "--examples-per-unit", &G::examples_per_unit, kTrain, "K|all", kPrivacy,
        "of a privacy unit that joins a step: it sends up to so many examples, whose mean gradient "
        "is clipped as a whole; 32"},
    Flag{"--examples-per-unit", &G::examples_per_unit, kBench, "K", kPrivacy,
         "time steps of made-up units of so many examples, beside those of as many single ones"},
    Flag{"--calibrate", &G::calibrate, kTrain, "on|off", kPrivacy,
         "scale scores to be probabilities, by noisy counts at the end; on for private --data"},
    Flag{"--unit-participations", &G::unit_participations, kTrain | kCosts, "K", kPrivacy,
         "of --sampling stream: steps of the run in which a privacy unit takes part, at most; 4"},
    Flag{"--unit-gap", &G::unit_gap, kTrain | kCosts, "STEPS", kPrivacy,
         "from one of these steps to the next, at least; steps / K"},
    Flag{"--correlation", &G::correlation, kRuns | kCosts | kAudit, "independent|lambda[:L]|bisr:B",
         kPrivacy,
         "of the noise of steps: lambda takes back part of what the step before added, bisr of "
         "what the last B - 1 did; lambda alone: the best for the run; lambda for --sampling "
         "stream, else independent"},
    Flag{
        "--disjoint-data", &G::disjoint_data, kLedger, "", kPrivacy,
        "declares that no example is in two data sets of different names: then they do not add up"},
    Flag{"--disjoint-data", &G::disjoint_data, kTrain, "", kPrivacy,
         "declares, of a run that goes on with other data after a release, that no example is in "
         "both: then they do not add up"},
    Flag{
        "--ledger", &G::ledger, train_flags, "FILE", kPrivacy,
        "a ledger of all runs on this source of data (lazydp ledger): reserves what the run plans, "
        "refuses what exceeds it, counts what was spent"},
    Flag{"--ledger-data", &G::ledger_data, train_flags, "NAME", kPrivacy,
         "what the ledger calls the run's data, for example its day; any data of the source"},
    Flag{"--ledger-runs", &G::ledger_runs, train_flags, "N", kPrivacy,
         "chooses the noise multiplier with which N such runs stay within the ledger"},
    Flag{"--withdraw", &G::withdraw, kLedger, "RUN", kPrivacy,
         "take back what a run reserved that came to nothing: its folder is gone, and none of its "
         "models was shown to anybody"},
    Flag{"--seed", &G::seed, kAll | kAudit | kPaper, "N", kPrivacy,
         "fixes all randomness: runs repeat, and no epsilon is claimed"},

    Flag{"--settle", &G::settle, kRuns, "ahead|on-read", kRun,
         "when rows that are read next receive their noise"},
    Flag{"--stages", &G::stages, kRuns, "fused|split", kRun,
         "split: slower kernels that time the paper's stages apart; fused"},
    Flag{"--threads", &G::threads, kOut | predict_flags | recommend_flags | kSweep | kTune, "N",
         kRun, "all cores", false},
    Flag{"--eval-every", &G::eval_every, kTrain | kAudit, "STEPS", kRun,
         "held-out AUC, log-loss, normalised entropy and calibration while training; only at the "
         "end"},
    Flag{"--eval-examples", &G::eval_examples, kTrain, "N", kRun,
         "of the held-out examples, so many are looked at while training; all"},
    Flag{"--rounds", &G::rounds, kBench, "N", kRun, "measured steps of each contender; 31"},
    Flag{"--smoke", &G::smoke, kPaper, "", kRun,
         "tiny batches and tables, a minute or two: shows that all of it works"},
    Flag{"--quick", &G::quick, kPaper, "", kRun, "tables of 1 GB, under a quarter of an hour"},
    Flag{"--max-table-gb", &G::max_table_gb, kPaper, "N", kRun,
         "the largest tables instead; three quarters of the free memory, at most the paper's 96"},
    Flag{"--dry-run", &G::dry_run, kTrain, "", kRun,
         "says what the run would claim, need and take, and trains nothing", false},
    Flag{"--dry-run", &G::dry_run, kTune, "", kRun,
         "says what the search would cost and how much noise it needs, and trains nothing", false},
    Flag{"--json", &G::json, kOut | verify_flags | kTune, "FILE|-", kRun,
         "the numbers, for machines", false},
    Flag{"--svg", &G::svg, kCosts, "FILE|-", kRun, "lazydp privacy curve: a picture", false},
    Flag{"--html", &G::html, compare_flags, "FILE|-", kRun,
         "a page with what differs, results and curves; secret", false},
    Flag{"--quiet", &G::quiet,
         kOut | predict_flags | recommend_flags | verify_flags | kSweep | kTune, "", kRun,
         "no progress and no report: only what --json and files take, warnings and errors", false},
    Flag{"--config", &G::config, kAll | kPaper | kCosts | kAudit | kDataFiles, "FILE", kRun,
         "TOML with these flags as keys, without dashes; the command line wins", false},

    Flag{"--out", &G::out, train_flags, "DIR", kFiles,
         "the run's folder: config, metrics, secret checkpoints and, at the end, model/", false},
    Flag{"--out", &G::out, kPaper, "DIR", kFiles,
         "for a CSV and SVGs of each experiment, and index.html with all of them", false},
    Flag{"--out", &G::out, kTune, "DIR", kFiles,
         "the search's folder: secret state, secret trials while it runs and, at the end, model/",
         false},
    Flag{"--checkpoint-every", &G::checkpoint_every, kTrain | kAudit | kTune, "N|TIME", kFiles,
         "save the state every so many steps (500) or so often (10m); never (lazydp audit: steps, "
         "and each time go on from there)"},
    Flag{"--table-storage", &G::table_storage, kRuns | kAudit, "memory|file:DIR", kFiles,
         "where tables live: file:DIR keeps the rows that were ever read in files there, secret as "
         "checkpoints are, for tables larger than memory; memory"},
    Flag{"--key-file", &G::key_file, train_flags | kFolder | kTune, "FILE", kFiles,
         "encrypt checkpoints with the passphrase or key in this file", false},
    Flag{"--beside", &G::beside, kTrain, "DIR", kFiles,
         "the folder of another run, SGD's perhaps, whose results report.html shows beside these",
         false},
    Flag{"--no-release", &G::no_release, train_flags, "", kFiles,
         "leave a checkpoint at the end and no model"},
    Flag{"--private-metrics", &G::private_metrics, kTrain, "off|on", kFiles,
         "on: AUC and log-loss, which no epsilon covers, reach the model's card; off"},
    Flag{"--branch", &G::branch, resume_flags, "", kFiles,
         "go on under other settings, from a settled state", false},
    Flag{"--previous", &G::previous, resume_flags, "", kFiles,
         "from the checkpoint before the newest", false},
};

}  // namespace

std::span<const Flag> all_flags() {
  return kFlags;
}

}  // namespace lazydp::cli
