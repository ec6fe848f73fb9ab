# The binary of a MachineConfig once more: from a source archive, in another folder, with a cargo home of its own. static.sh does it for all binaries.

once_more() {
    local from=$work/"once more"
    source_archive "$work/twice" "$("$dist/skewguard-embed" --version | sed -n 's/^commit: //p')"
    mkdir -p "$from"
    tar -xzf "$work"/twice/skewguard-*.tar.gz -C "$from" --strip-components=1
    another_cargo_home
    # What a distribution exports for its own programs changes nothing.
    (cd "$from" && env -u CARGO_TARGET_DIR -u SKEWGUARD_COMMIT -u SKEWGUARD_COMMIT_DATE CARGO_HOME="$work/another/cargo home" CFLAGS=-O0 RUSTFLAGS=-Copt-level=0 \
        dist/build embed)
    cmp "$from/target/dist/skewguard-embed" "$dist/skewguard-embed"
}

build_once
long "embed is byte for byte the same, built in another folder and cargo home" once_more
