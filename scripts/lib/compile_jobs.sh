# Sourced after shell.sh by the scripts that build: how many files are compiled at once.
#
#   ninja -C "$build" -j "$(compile_jobs)"
#
# One job per CPU, but no more than one per GiB of memory: the dearest file takes 700 MB. The memory is what the system has left, or less
# where a control group limits this process. The arguments name other files than the system's, for tests.

gib=$((1024 * 1024 * 1024))

# Bytes that MEMINFO (/proc/meminfo) calls available.
available_memory() {
  local name value unit
  while read -r name value unit; do
    if [[ $name == MemAvailable: ]]; then
      echo $((value * 1024))
      return
    fi
  done <"$1"
}

# The least limit, in bytes, of the control groups of GROUPS (/proc/self/cgroup) and of the groups above them, version 1 or 2, below MOUNT
# (/sys/fs/cgroup). Nothing where no group has a limit.
group_limit() {
  local groups=$1 mount=$2 controllers path folder file limit least=
  while IFS=: read -r _ controllers path; do
    case ,$controllers, in
      ,,) folder=$mount$path file=memory.max ;;
      *,memory,*) folder=$mount/memory$path file=memory.limit_in_bytes ;;
      *) continue ;;
    esac
    while [[ $folder == "$mount"* ]]; do
      if [[ -r $folder/$file ]] && read -r limit <"$folder/$file" && [[ $limit != max ]]; then
        if [[ -z $least ]] || ((limit < least)); then least=$limit; fi
      fi
      folder=${folder%/*}
    done
  done <"$groups"
  echo "$least"
}

# How many jobs of ninja fit.
compile_jobs() {
  local meminfo=${1:-/proc/meminfo} groups=${2:-/proc/self/cgroup} mount=${3:-/sys/fs/cgroup} memory limit jobs
  jobs=$(nproc)
  memory=$(available_memory "$meminfo")
  limit=$(group_limit "$groups" "$mount")
  if [[ -n $limit ]] && { [[ -z $memory ]] || ((limit < memory)); }; then memory=$limit; fi
  if [[ -n $memory ]] && ((memory / gib < jobs)); then jobs=$((memory / gib)); fi
  echo $((jobs > 1 ? jobs : 1))
}
