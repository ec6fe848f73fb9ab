# Thin recipes over the scripts, which work without just: `just` lists them.

_list:
    @just --list --unsorted

# see a node that is refused
try:
    -cargo run --release -- check --root tests/trees/rhcos-4.12-target-4.22-refused

# for every save: formatting, clippy, unit, core and render tests
quick:
    tests/run quick

# the tests of a pull request, or the tiers that are named: lint cargo old embed few dist boot ports deny; all: those of CI
test *tiers:
    tests/run {{tiers}}

# fuzzing, for so many minutes together
fuzz minutes="9":
    tests/fuzz {{minutes}}

# every system call fails once in every way
faults:
    tests/faults

# what no test sees, of these files or of those that decide
mutants *files:
    tests/mutants/run {{files}}

# one subject or test
it name:
    cargo test --workspace --lib --test it {{name}}

# expected texts anew: read the diff
bless subject:
    SKEWGUARD_BLESS=1 cargo test --workspace --lib --test it {{subject}}

# one machine that boots; `just boot --list` has them all
boot *arguments:
    tests/boot/run {{arguments}}

# what the tests need and this machine lacks
setup:
    tests/setup

# the three static binaries that ship
build *arguments:
    dist/build {{arguments}}

# what is published of the tag that is checked out
release version:
    dist/release {{version}}
