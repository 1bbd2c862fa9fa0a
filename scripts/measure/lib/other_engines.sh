# Sourced after shell.sh and peer.sh by compare_peer.sh: OpenVINO GenAI and onnxruntime-genai in an environment of their own.
#
#   prepare_other_engines; "$other_python" -c "import openvino_genai"
#   folder=$(other_forms smollm2 model.gguf openvino,onnxruntime)   # holds openvino/ and onnxruntime/
#
# The packages (about six gigabytes, since their model builders need torch) come from the Python registry, by pip with the settings of this
# machine, into the cache, once.

other_packages=(
  openvino==2026.4.1 openvino-genai==2026.4.1.0 openvino-tokenizers==2026.4.1.0 onnxruntime==1.32.0 onnxruntime-genai==0.18.0
  torch==2.15.0 transformers==4.57.6 accelerate==1.15.0 optimum==2.1.0 optimum-intel==1.27.0 optimum-onnx==0.1.0 nncf==3.4.0
  onnx==1.23.2 onnx-ir==1.1.0 gguf==0.19.0 numpy==2.4.6 tokenizers==0.22.2 sentencepiece==0.2.3 safetensors==0.8.0
)
# The exporter for OpenVINO allows no newer transformers; with this one, an older model builder of onnxruntime-genai works, in a folder of
# its own: the runtime is the newer.
builder_package=onnxruntime-genai==0.14.1
other_environment=$cache/peer/engines
other_python=$other_environment/bin/python

# The environment gets its name when it is whole: a virtual environment must not be moved, so a file in it says so.
prepare_other_engines() {
  local all="${other_packages[*]} builder: $builder_package"
  if [[ $(cat "$other_environment/packages" 2>/dev/null) == "$all" ]]; then return; fi
  rm -rf "$other_environment"
  python3 -m venv --without-pip "$other_environment" || die "python could not make the environment $other_environment"
  run_logged "fetching OpenVINO GenAI and onnxruntime-genai" "$peer/engines.log" python3 -m pip --python "$other_python" install \
    --no-cache-dir --disable-pip-version-check "${other_packages[@]}" || die "pip could not install ${other_packages[*]}"
  run_logged "fetching the model builder" "$peer/builder.log" python3 -m pip --python "$other_python" install \
    --no-cache-dir --disable-pip-version-check --no-deps --target "$other_environment/builder" "$builder_package" ||
    die "pip could not install $builder_package"
  echo "$all" >"$other_environment/packages"
}

# Prints the folder in which a model stands in the other engines' forms.
other_forms() {
  local name=$1 from=$2 engines=$3 folder=$peer/forms/$1
  run_logged "making $name for the other engines" "$peer/forms_$name.log" \
    "$other_python" "$root/scripts/measure/lib/other_engine_model.py" "$from" "$folder" --engines "$engines" || return 1
  echo "$folder"
}
