#!/usr/bin/env bash
# The program on several ranks: the same model as one process, checkpoints that any number of ranks
# resumes, refusals that say why, and a rank that is killed.
# Usage: program.sh PROGRAM SAME_MODEL MPIRUN
set -euo pipefail
program=$(realpath "$1")
same_model=$(realpath "$2")
mpirun=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_WAIT_POLICY=passive
scratch=$(mktemp -d)
job=
trap '[[ -z $job ]] || kill "$job" 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"

on() { # on N WORD…: the program on N ranks
  "$mpirun" --oversubscribe --bind-to none --mca btl self,vader -n "$1" "$program" "${@:2}"
}
fail() {
  echo "FAILED: $*"
  exit 1
}
run=(train --model small --batch 1000 --steps 12 --seed 7 --threads 1 --quiet)

# The same model: LazyDP settles in two ways, and one eager algorithm.
"$program" "${run[@]}" --out one --json one.json >one.txt
number() { grep "\"$1\":" "$2" | grep -o '[0-9.e-]*[0-9]' | tail -1; }
for ranks in 2 4; do
  on "$ranks" "${run[@]}" --out "ranks$ranks" --json "ranks$ranks.json" >"ranks$ranks.txt"
  "$same_model" one/model/model.safetensors "ranks$ranks/model/model.safetensors" 1e-4
  grep -q "\"ranks\": $ranks" "ranks$ranks.json" || fail "the report has no ranks"
  awk -v a="$(number auc one.json)" -v b="$(number auc "ranks$ranks.json")" \
    'BEGIN { exit !(a > 0 && a - b < 1e-4 && b - a < 1e-4) }' || fail "another AUC on $ranks ranks"
  (($(grep -c epsilon "ranks$ranks.txt") <= $(grep -c epsilon one.txt))) || fail "several ranks print"
done
diff <(grep -o '"unit".*' one/model/card.json) <(grep -o '"unit".*' ranks4/model/card.json)
"$program" "${run[@]}" --algorithm dpsgd-f --out eager >/dev/null
on 3 "${run[@]}" --algorithm dpsgd-f --settle ahead --out eager3 >/dev/null
"$same_model" eager/model/model.safetensors eager3/model/model.safetensors 1e-4

# Saved by four, gone on by two, by three, and finished by one.
on 4 "${run[@]}" --no-release --checkpoint-every 5 --out moved >/dev/null
[[ -n $(ls moved/checkpoint/*-part-*-3) ]] || fail "a checkpoint has no fourth part"
on 2 resume moved --previous --quiet >/dev/null
on 3 release moved >/dev/null
"$same_model" one/model/model.safetensors moved/model/model.safetensors 1e-4
on 4 "${run[@]}" --no-release --out to_one >/dev/null
"$program" release to_one >/dev/null
"$same_model" one/model/model.safetensors to_one/model/model.safetensors 1e-4
[[ -z $(ls to_one/checkpoint/*-part-* 2>/dev/null) ]] || fail "parts of a removed checkpoint are left"
"$program" "${run[@]}" --no-release --out from_one >/dev/null
on 2 release from_one >/dev/null
"$same_model" one/model/model.safetensors from_one/model/model.safetensors 1e-4

# Refused, with what differs.
refused() { # refused CODE TEXT: what the last command said
  [[ $code == "$1" ]] || fail "exit code $code, not $1: $(cat said)"
  grep -q -- "$2" said || fail "does not say '$2': $(cat said)"
}
unequal() { # unequal PROGRAM WORD…: one rank as ever, the other so
  code=0
  "$mpirun" --oversubscribe --bind-to none --mca btl self,vader -n 1 "$program" "${run[@]}" : \
    -n 1 "$@" >said 2>&1 || code=$?
}
unequal "$program" "${run[@]}" --clip-norm 2
refused 2 'rank 1 differs: clip_norm is 2.0 there and 5.0 on rank 0'
unequal "$program" "${run[@]}" --eval-every 3
refused 2 'rank 1 differs: eval-every is "3" there and nothing on rank 0'
unequal "$program" "${run[@]}" --out elsewhere
refused 2 'rank 1 differs: out is "elsewhere" there and nothing on rank 0'
[[ ! -e elsewhere ]] || fail "a refused run left something"
mkdir here there # machines that share no disk
code=0
"$mpirun" --oversubscribe --bind-to none --mca btl self,vader \
  -n 1 --wdir "$scratch/here" "$program" "${run[@]}" --out run : \
  -n 1 --wdir "$scratch/there" "$program" "${run[@]}" --out run >said 2>&1 || code=$?
refused 2 "out is 'run', where this rank does not find what rank 0 wrote"
[[ -z $(ls there) ]] || fail "a refused rank left something"
version=$("$program" --version | grep -o '[0-9]*\.[0-9]*\.[0-9]*')
sed "s/${version//./\\.}/9.9.9/g" "$program" >other_version # as long as it is: nothing moves
((${#version} == 5)) || fail "this check needs a version of five characters"
chmod +x other_version
unequal ./other_version "${run[@]}"
refused 2 "rank 1 differs: program is \"9.9.9\" there and \"$version\" on rank 0"
"$program" generate a.ldp --synthetic zipf:1.1 --examples 3000 --quiet >/dev/null
"$program" generate b.ldp --synthetic zipf:1.2 --examples 3000 --quiet >/dev/null
run=(train --data a.ldp --batch 100 --steps 3 --seed 7 --threads 1 --quiet)
unequal "$program" "${run[@]/a.ldp/b.ldp}"
refused 2 'rank 1 differs: data_checksum is'
cp a.ldp same.ldp
unequal "$program" "${run[@]/a.ldp/same.ldp}" # the same data in another place
[[ $code == 0 ]] || fail "the same data was refused: $(cat said)"
code=0
on 2 bench steps >said 2>&1 || code=$?
refused 2 'lazydp bench steps is for one process'
code=0
on 2 train --batch -5 >said 2>&1 || code=$?
refused 2 'batch is'
[[ $(grep -c '^lazydp: ' said) == 1 ]] || fail "several ranks complain: $(cat said)"
code=0
on 2 train --seed 7 --threads 1 --out ranks2 >said 2>&1 || code=$?
refused 2 'holds a run with other settings'

# A rank is killed: all end soon, and the run goes on from its last checkpoint, with fewer ranks.
long=(train --model small --batch 200 --steps 300 --seed 7 --threads 1 --checkpoint-every 5
  --out killed --quiet)
"$mpirun" --oversubscribe --bind-to none --mca btl self,vader -n 4 "$program" "${long[@]}" >said 2>&1 &
job=$!
for _ in $(seq 3000); do
  [[ -n $(ls killed/checkpoint/step-*.unsettled 2>/dev/null) ]] && break
  sleep 0.02
done
below() { # below PID: all that it started, and what they did
  local pid
  for pid in $(pgrep -P "$1"); do
    echo "$pid"
    below "$pid"
  done
}
victim=
for pid in $(below "$job"); do
  if tr '\0' '\n' <"/proc/$pid/environ" | grep -qx 'OMPI_COMM_WORLD_RANK=2'; then victim=$pid; fi
done
[[ -n $victim ]] || fail "cannot find rank 2"
kill -KILL "$victim"
start=$SECONDS
code=0
wait "$job" || code=$?
job=
((SECONDS - start <= 30)) || fail "the job took $((SECONDS - start)) s to end"
((code != 0)) || fail "a job with a killed rank ended well"
grep -qi 'rank 2.*killed\|signal 9' said || fail "nothing says that a rank was killed: $(cat said)"
on 3 resume killed --threads 1 --quiet --json resumed.json >/dev/null
grep -q '"steps": 300' resumed.json || fail "the run did not go on to its end"
[[ -s killed/model/card.json ]] || fail "nothing was released"
echo "the program runs on ranks"
