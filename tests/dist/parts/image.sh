# dist/Containerfile, really built. Its base stands in for a CoreOS image: a shell, rm, rpm, systemctl and their libraries, copied from this machine, and
# a `bootc` that notes how it was called.

readonly base=$work/base

# Debian's rpm wants to be told that it is meant; that of CoreOS does not.
stand_in() {
    local program file
    mkdir -p "$base"/{etc,tmp,var,usr/bin,usr/lib/rpm}
    ln -s usr/bin "$base/bin"
    ln -s usr/lib "$base/lib"
    ln -s usr/lib "$base/lib64"
    for program in sh rm rpm systemctl; do
        cp -L "$(command -v $program)" "$base/usr/bin/"
        ldd "$(command -v $program)" | grep -o '/[^ ]*' | while read -r file; do
            mkdir -p "$base/$(dirname "$file")"
            cp -Ln "$file" "$base/$file"
        done
    done
    cp -r /usr/lib/rpm/rpmrc /usr/lib/rpm/macros /usr/lib/rpm/platform "$base/usr/lib/rpm/"
    mv "$base/usr/bin/rpm" "$base/usr/bin/rpm-debian"
    printf '#!/bin/sh\nexec rpm-debian --force-debian "$@"\n' >"$base/usr/bin/rpm"
    printf '#!/bin/sh\necho "$@" >/usr/linted\n' >"$base/usr/bin/bootc"
    chmod +x "$base/usr/bin/rpm" "$base/usr/bin/bootc"
}

# Nothing but files: no namespaces, no network, no registry.
build_image() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/store-run" "$@"; }

builds() {
    local context=$work/context
    mkdir -p "$context"
    # Both packages, as `rpmbuild` leaves them: the image takes the one for boot images.
    cp "$work"/image-rpm/RPMS/*/skewguard-*.rpm "$context/"
    printf 'FROM scratch\nCOPY . /\n' | build_image build --isolation chroot --tag base --file - "$base"
    build_image build --isolation chroot --pull-never --build-arg BASE=localhost/base --tag image --file dist/Containerfile "$context"
}

package() {
    mkdir -p "$work/image-rpm/SOURCES"
    git archive --prefix="skewguard-$(sed -n 's/^Version: *//p' dist/skewguard.spec)/" HEAD |
        gzip >"$work/image-rpm/SOURCES/skewguard-$(sed -n 's/^Version: *//p' dist/skewguard.spec).tar.gz"
    rpmbuild -bb --quiet --define "_topdir $work/image-rpm" --with prebuilt --define "prebuilt $dist" dist/skewguard.spec
}

contains() {
    local mounted unit
    mounted=$(build_image mount "$(build_image from --pull-never localhost/image)")
    cmp "$mounted/usr/bin/skewguard" "$dist/skewguard"
    cmp "$mounted/usr/lib/systemd/system/skewguard.service" systemd/skewguard.service
    # Enabled when the image is made, by the preset.
    for unit in multi-user.target machine-config-daemon-firstboot.service kubelet-dependencies.target; do
        [[ $(readlink "$mounted/etc/systemd/system/$unit.wants/skewguard.service") == */lib/systemd/system/skewguard.service ]]
    done
    [[ $(<"$mounted/usr/linted") == "container lint" ]]
    [[ ! $(ls "$mounted/tmp") ]] || fail "left in /tmp: $(ls "$mounted/tmp")"
}

# dist/Containerfile.cli: nothing but the program and its samples, which run there.
runs_alone() {
    local in_image=/usr/share/skewguard/samples said status=0
    build_image build --isolation chroot --tag cli --file dist/Containerfile.cli "$dist"
    said=$(build_image run --isolation chroot "$(build_image from --pull-never localhost/cli)" -- /usr/bin/kubectl-skewguard audit \
        --policy $in_image/policy.json --from $in_image/aws.json) || status=$?
    [[ $status == 3 && $said == "Not ready to enforce: 1 of 7 sets would be refused, 2 are not known, 1 is not"* ]] || fail "exit $status: $said"
    said=$(build_image run --isolation chroot "$(build_image from --pull-never localhost/cli)" -- /usr/bin/kubectl-skewguard why \
        --from $in_image/cluster $in_image/first-boot)
    [[ $said == "c1-x7k2p-worker-us-east-2a-7qz4k does not finish its first boot after 30"* ]] || fail "$said"
    [[ $(build_image run --isolation chroot "$(build_image from --pull-never localhost/cli)" -- /usr/bin/kubectl-skewguard inspect 9.6.20250523-0) == *"RHEL 9.6"* ]]
}

if needs root buildah:buildah rpmbuild:rpm; then
    build_once
    check "the package" package
    check "a stand-in for the base image" stand_in
    check "buildah builds dist/Containerfile" builds
    check "the image has the agent, enabled, and was linted" contains
    check "the image of dist/Containerfile.cli runs the program" runs_alone
fi
