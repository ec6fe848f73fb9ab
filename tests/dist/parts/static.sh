# The static packages from a source archive: all binaries once more, in a folder and with a cargo home of its own, and the same bytes.

[[ -e $work/package.rpm ]] || source tests/dist/parts/rpm.sh

from_sources() {
    mkdir -p "$top/prebuilt"
    mv "$work/package.rpm" "$work/cli.rpm" "$top/prebuilt/"
    another_cargo_home
    # What a distribution exports for its own programs changes nothing.
    env -u CARGO_TARGET_DIR -u SKEWGUARD_COMMIT -u SKEWGUARD_COMMIT_DATE CARGO_HOME="$work/another/cargo home" CFLAGS=-O0 RUSTFLAGS=-Copt-level=0 \
        rpmbuild -bb --with static --define "_topdir $top" dist/skewguard.spec
    mv "$top"/RPMS/*/skewguard-[0-9]*.rpm "$work/package.rpm"
    mv "$top"/RPMS/*/skewguard-cli-*.rpm "$work/cli.rpm"
    unpacked
}

same_files() {
    diff <(files "$work/package.rpm") <(files "$top/prebuilt/package.rpm")
    diff <(files "$work/cli.rpm") <(files "$top/prebuilt/cli.rpm")
}

if [[ -e $work/package.rpm ]]; then
    long "rpmbuild from the source archive" from_sources
    check "all binaries are byte for byte what dist/build made here, in another folder and cargo home" same_bytes
    check "the same package as from binaries that are built already" same_files
fi
