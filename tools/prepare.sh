# shellcheck shell=bash
# shellcheck disable=SC2154  # root comes from the caller
# What ./vig and ./test share: Debian packages and builds. Sourced with `root`, the source tree, set.
# Everything said here goes to stderr: stdout belongs to the program that runs in the end.

say() { printf 'vig: %s\n' "$*" >&2; }

# fail SENTENCE LOG: shows the end of the log (but for ninja's counting), then the sentence, and ends
# with status 1.
fail() {
  { grep -v '^\[[0-9]*/' -- "$2" || true; } | tail -n 25 >&2
  say "$1"
  exit 1
}

# hold DESCRIPTOR WORK: locks an open file, and says what is waited for.
hold() {
  flock -n "$1" && return
  say "waiting for another $2"
  flock "$1"
}

# packages SECTION...: the names in these sections of the list.
packages() {
  local wanted=" $* " section='' line
  while read -r line; do
    line=${line%%#*}
    line=${line%%[[:space:]]*}
    case $line in
      '') ;;
      '['*']') section=${line:1:-1} ;;
      *) if [[ $wanted == *" $section "* ]]; then printf '%s ' "$line"; fi ;;
    esac
  done <"$root/tools/packages.txt"
}

# missing_packages SECTION...: those not installed; all of them where there is no dpkg to ask.
missing_packages() {
  local names installed name
  read -r -a names <<<"$(packages "$@")"
  # shellcheck disable=SC2016  # dpkg-query expands these, not the shell
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ' "${names[@]}" 2>/dev/null || true)
  for name in "${names[@]}"; do
    if [[ " $installed" != *" installed $name "* ]]; then printf '%s ' "$name"; fi
  done
}

# install_packages SECTION...: leaves in `missing` what could not be installed here. That alone is no
# error, since the libraries may be installed otherwise: configuring decides. Asks first on a terminal.
install_packages() {
  read -r -a missing <<<"$(missing_packages "$@")"
  if ((${#missing[@]} == 0)) || [[ ${VIG_NO_INSTALL:-0} == 1 ]] ||
    ! command -v apt-get >/dev/null || { ((EUID != 0)) && ! command -v sudo >/dev/null; }; then
    return 0
  fi
  if [[ -t 0 && -t 2 ]]; then ask_to_install; fi
  # One at a time, also of ./vig and ./test, which build in different folders: apt-get's own timeout
  # does not cover the update.
  local installing
  exec {installing}>"$root/build/install.lock"
  hold "$installing" installation
  read -r -a missing <<<"$(missing_packages "$@")"
  if ((${#missing[@]} > 0)); then install_missing; fi
  exec {installing}>&-
}

# Returns if `missing` may be installed, and ends with status 1 otherwise.
ask_to_install() {
  local reply
  say "these Debian packages are needed and not installed: ${missing[*]}"
  read -r -p 'vig: install them with apt-get now? [Y/n] ' reply || { reply=no && echo >&2; } # Ctrl-D
  if [[ -z $reply || $reply == [yY]* ]]; then return; fi
  say "nothing was installed; install the packages yourself and try again: \
$( ((EUID == 0)) || echo 'sudo ')apt-get install --no-install-recommends ${missing[*]}"
  exit 1
}

# Installs `missing` and leaves it empty.
install_missing() {
  local log=$root/build/install.log
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600)
  if ((EUID != 0)); then apt=(sudo "${apt[@]}"); fi
  say "installing Debian packages: ${missing[*]}"
  # The update may fail where only a foreign source is unreachable: the installation decides.
  "${apt[@]}" update >"$log" 2>&1 </dev/null || true
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    fail "apt-get could not install ${missing[*]}; its messages are in $log." "$log"
  missing=()
}

fail_configuring() {
  if ((${#missing[@]} == 0)); then fail "configuring failed; its messages are in $1." "$1"; fi
  fail "building needs these Debian packages, or what your system calls them; install them and \
try again: ${missing[*]}." "$1"
}

# Copies ninja's lines to the log and, for someone watching, its counter to one line of the terminal.
follow() {
  local line
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    if [[ -t 2 && $line == '['*']'* ]]; then printf '\rvig: building %s] ' "${line%%]*}" >&2; fi
  done
  if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
}

# first_build PRESET: what a user who waits for the first build wants to know.
first_build() {
  case $1 in
    release) echo 'compiling the engine for the first time, which took 3 minutes on 2 cores' ;;
    training) echo 'compiling vig-train for the first time, which took 6 minutes on 2 cores' ;;
    onnx) echo 'compiling vig-onnx for the first time, which took 1 minute on 2 cores beside the engine' ;;
    study) echo 'compiling vig-study for the first time, which took 1 minute on 2 cores beside the engine' ;;
    server) echo 'compiling vig-serve for the first time, which took 1 minute on 2 cores beside the engine' ;;
    *) echo 'compiling everything for the first time, which took 15 minutes on 2 cores' ;;
  esac
}

# configure PRESET FOLDER: build/FOLDER.
configure() {
  local folder=$root/build/$2 log=$root/build/$1.log configure=(cmake)
  local cache=$folder/CMakeCache.txt
  : >"$log"
  command -v cmake >/dev/null || fail_configuring "$log"
  # A tree that was moved cannot be rebuilt in place.
  if [[ -e $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    configure+=(--fresh)
  fi
  (cd -- "$root" && "${configure[@]}" --preset "$1") >>"$log" 2>&1 </dev/null ||
    fail_configuring "$log"
}

# build PRESET FOLDER [TARGET...]: these targets, or all, in build/FOLDER.
build() {
  local preset=$1 folder=$root/build/$2 log=$root/build/$1.log
  shift 2
  SECONDS=0
  if [[ ! -e $folder/first-build-$preset ]]; then say "$(first_build "$preset")"; fi
  say "building ($preset); the log is $log"
  configure "$preset" "$(basename -- "$folder")"
  NINJA_STATUS='[%f/%t] ' cmake --build "$folder" --parallel "$(nproc)" ${1:+--target "$@"} \
    2>&1 </dev/null | follow "$log" ||
    fail "building failed; the compiler's messages are in $log." "$log"
  : >"$folder/first-build-$preset"
  say "built in $SECONDS s"
}

# One at a time in each folder below build: lock FOLDER ... unlock.
lock() {
  mkdir -p -- "$root/build"
  exec {lock}>"$root/build/$1.lock"
  hold "$lock" build
}
unlock() { exec {lock}>&-; }
