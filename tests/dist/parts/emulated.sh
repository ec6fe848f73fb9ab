# The binaries for another architecture, $part, run by qemu-user: no kernel of theirs, but every instruction. s390x has its largest byte first.

emulator=qemu-$part compiler=${part/ppc/powerpc}-linux-gnu-gcc debian=${part/ppc64le/ppc64el}
# What ELF calls it: `uname -m`, but for Rust.
rust=${part/ppc64le/powerpc64}

# rustup has libc for some; Debian's for the others, without making theirs an architecture of this machine.
foreign_musl() {
    local apt=$work/apt-$part
    mkdir -p "$apt"/{lists,cache/archives}/partial
    cat >"$apt/conf" <<END
APT::Architectures { "$(dpkg --print-architecture)"; "$debian"; };
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Etc::sourceparts "-";
Dir::Etc::sourcelist "$apt/sources.list";
APT::Sandbox::User "root";
END
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${SKEWGUARD_BOOT_MIRROR:-http://deb.debian.org/debian} bookworm main" \
        >"$apt/sources.list"
    (cd "$apt" && export APT_CONFIG=$apt/conf && apt-get -qq update && apt-get -qq download "musl-dev:$debian" && dpkg -x musl-dev_*.deb root)
}

starts() {
    "$emulator" "$1" --version | grep -x "build: $2, $rust, static musl"
}

decides() {
    local status=0
    "$emulator" "$1" check --root tests/trees/rhcos-4.12-refused >"$work/verdict" || status=$?
    [[ $status == 3 ]] || fail "exit $status"
    diff tests/check/expected/rhcos-4.12-refused.txt "$work/verdict"
}

speaks_tls() {
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$emulator" "$dist/$part/skewguard" >"$work/emulated"
    chmod +x "$work/emulated"
    SKEWGUARD_TEST_PROGRAM=$work/emulated cargo test --locked --workspace --test it -- cluster::program::
}

# Rendered by this machine's program and by the emulated one: the same bytes.
rendered() {
    local condition
    case $part in aarch64) condition=arm64 ;; ppc64le) condition=ppc64-le ;; *) condition=$part ;; esac
    "$dist/kubectl-skewguard" policy init >"$work/policy-$part.json"
    "$dist/kubectl-skewguard" render machineconfig --policy "$work/policy-$part.json" --binary "$dist/$part/skewguard-embed" >"$work/$part.yaml"
    grep "^# Binary: for $part" "$work/$part.yaml"
    grep "ConditionArchitecture=$condition\$" "$work/$part.yaml"
    "$emulator" "$dist/$part/kubectl-skewguard" render machineconfig --policy "$work/policy-$part.json" | cmp - "$work/$part.yaml"
}

packaged() {
    local version folder=$work/$part-rpm
    version=$(sed -n 's/^Version: *//p' dist/skewguard.spec)
    mkdir -p "$folder/SOURCES"
    git archive --prefix="skewguard-$version/" --output "$folder/SOURCES/skewguard-$version.tar.gz" HEAD
    rpmbuild -bb --quiet --target "$part" --define "_topdir $folder" --with prebuilt --define "prebuilt $dist/$part" dist/skewguard.spec
    [[ $(rpm -qp --qf '%{ARCH}' "$folder/RPMS/$part"/skewguard-[0-9]*.rpm) == "$part" ]]
    rpm2cpio "$folder/RPMS/$part"/skewguard-[0-9]*.rpm | cpio -i --quiet --to-stdout ./usr/bin/skewguard | cmp - "$dist/$part/skewguard"
}

built_for() {
    if [[ $part == aarch64 ]]; then
        tail -n +1 -f --pid="$foreign" "$work/aarch64.log"
        return "$(<"$work/aarch64.status")"
    fi
    dist/build --target "$part"
}

if needs "$emulator:qemu-user" "$compiler:gcc-${compiler%-gcc}" rpmbuild:rpm rpm2cpio:rpm2cpio cpio:cpio git:git; then
    build_once
    if [[ ! -d $(rustc --print sysroot)/lib/rustlib/${compiler%%-*}-unknown-linux-musl ]]; then
        check "musl for $part" foreign_musl
        export SKEWGUARD_MUSL=$work/apt-$part/root/usr/lib/${compiler%%-*}-linux-musl
    fi
    long "dist/build --target $part" built_for
    unset SKEWGUARD_MUSL
    check "full starts" starts "$dist/$part/skewguard" full
    check "embed starts" starts "$dist/$part/skewguard-embed" embed
    check "full decides as the others do" decides "$dist/$part/skewguard"
    check "embed decides as the others do" decides "$dist/$part/skewguard-embed"
    check "the package for $part" packaged
    check "a MachineConfig with it is for that architecture only, whichever program renders it" rendered
    long "full: TLS with every key and version" speaks_tls
fi
