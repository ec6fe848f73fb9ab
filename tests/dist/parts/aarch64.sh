# qemu-user runs them: no kernel of another architecture, but every instruction of theirs.

starts() {
    qemu-aarch64 "$1" --version | grep -x "build: $2, aarch64, static musl"
}

decides() {
    local status=0
    qemu-aarch64 "$1" check --root tests/trees/rhcos-4.12-refused >"$work/verdict" || status=$?
    [[ $status == 3 ]] || fail "exit $status"
    diff tests/check/expected/rhcos-4.12-refused.txt "$work/verdict"
}

speaks_tls() {
    printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$dist/aarch64/skewguard" >"$work/emulated"
    chmod +x "$work/emulated"
    SKEWGUARD_TEST_PROGRAM=$work/emulated cargo test --locked --test cluster -- program::
}

for_arm_only() {
    "$dist/skewguard" policy init >"$work/policy-arm.json"
    "$dist/skewguard" render machineconfig --policy "$work/policy-arm.json" --binary "$dist/aarch64/skewguard-embed" >"$work/arm.yaml"
    grep '^# Binary: for aarch64' "$work/arm.yaml"
    grep 'ConditionArchitecture=arm64' "$work/arm.yaml"
}

packaged() {
    local version folder=$work/arm-rpm
    version=$(sed -n 's/^Version: *//p' dist/skewguard.spec)
    mkdir -p "$folder/SOURCES"
    git archive --prefix="skewguard-$version/" --output "$folder/SOURCES/skewguard-$version.tar.gz" HEAD
    rpmbuild -bb --quiet --target aarch64 --define "_topdir $folder" --with prebuilt --define "prebuilt $dist/aarch64" dist/skewguard.spec
    [[ $(rpm -qp --qf '%{ARCH}' "$folder"/RPMS/aarch64/*.rpm) == aarch64 ]]
    rpm2cpio "$folder"/RPMS/aarch64/*.rpm | cpio -i --quiet --to-stdout ./usr/bin/skewguard | cmp - "$dist/aarch64/skewguard"
}

if needs qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu rpmbuild:rpm rpm2cpio:rpm2cpio cpio:cpio git:git; then
    build_once
    long "dist/build --target aarch64" dist/build --target aarch64
    check "full starts" starts "$dist/aarch64/skewguard" full
    check "embed starts" starts "$dist/aarch64/skewguard-embed" embed
    check "full decides as the others do" decides "$dist/aarch64/skewguard"
    check "embed decides as the others do" decides "$dist/aarch64/skewguard-embed"
    check "the package for aarch64" packaged
    check "a MachineConfig with it is for that architecture only" for_arm_only
    long "full: TLS with every key and version" speaks_tls
fi
