# The cluster tier's whole-program tests of TLS, with the binary that ships.

tls_of() {
    SKEWGUARD_TEST_PROGRAM=$1 cargo test --locked --workspace --test it -- cluster::program::
}

build_once
long "full: TLS 1.2 and 1.3, RSA, P-256, P-384, a kubelet's key; wrong signatures refused" tls_of "$dist/skewguard"
