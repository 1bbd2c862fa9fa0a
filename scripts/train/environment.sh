#!/usr/bin/env bash
# Makes the Python environment in which the scripts of scripts/train run (JAX for CPUs, about 400 MB), once, and prints its interpreter.
#
#   scripts/train/environment.sh
#   "$(scripts/train/environment.sh)" scripts/train/exit_predictor.py --help
#
# The packages come from the Python registry, by pip with the settings of this machine, into the cache ($TESSERA_CACHE/train).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib/shell.sh"
(($# == 0)) || die "unknown argument $1; usage: scripts/train/environment.sh"

packages=(jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6)
environment=$cache/train/python
python=$environment/bin/python

# The environment gets its name when it is whole: a virtual environment must not be moved, so a file in it says so.
if [[ $(cat "$environment/packages" 2>/dev/null) != "${packages[*]}" ]]; then
  mkdir -p "$cache/train"
  rm -rf "$environment"
  python3 -m venv --without-pip "$environment" || die "python could not make the environment $environment"
  run_logged "fetching JAX" "$cache/train/packages.log" python3 -m pip --python "$python" install \
    --no-cache-dir --disable-pip-version-check "${packages[@]}" || die "pip could not install ${packages[*]}"
  echo "${packages[*]}" >"$environment/packages"
fi
echo "$python"
