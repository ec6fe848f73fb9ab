//! Boot image versions: every real one, every scheme built from its parts, the order, and what is
//! no version.
//!
//! `tests/data/boot-images.tsv` lists versions that were really published, each with the public
//! repository or document it was seen in.

use crate::inside::core::samples::image_versions;
use crate::version::{ImageVersion, OcpMinor, RhelVersion, Scheme, compare_images, compare_rhel};
use proptest::prelude::*;
use std::cmp::Ordering;

/// Scheme, OCP, RHEL, date and build as the list writes them.
fn row(version: &ImageVersion) -> [String; 5] {
    let scheme = match version.scheme {
        Scheme::Legacy => "legacy",
        Scheme::RhelVersioned => "rhel",
        Scheme::Fcos => "fcos",
        Scheme::LayeredBuild => "layered",
        Scheme::ImageName | Scheme::Unknown | Scheme::Other(_) => "unknown",
    };
    fn or_empty<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let (ocp, rhel) = (or_empty(version.ocp), or_empty(version.rhel));
    [
        scheme.to_owned(),
        ocp,
        rhel,
        or_empty(version.build_date.as_ref()),
        or_empty(version.build_number),
    ]
}

#[test]
fn every_published_version_decodes_as_listed() {
    let list = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    let mut rows = 0;
    for line in list.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let version = ImageVersion::parse(cells[0]);
        assert_eq!(row(&version), cells[1..6], "{}", cells[0]);
        assert_eq!(version.to_string(), cells[0]);
        rows += 1;
    }
    assert_eq!(rows, 145);
}

#[test]
fn each_scheme_says_what_its_table_says() {
    for (text, scheme, ocp, rhel, date, build) in [
        // With an 8-digit date 410 is 4.1, with a 12-digit stamp it is 4.10.
        ("410.8.20190520.0", "legacy", "4.1", "8", "2019-05-20", "0"),
        ("410.8.20190520-0", "legacy", "4.1", "8", "2019-05-20", "0"),
        (
            "410.81.20200213.0",
            "legacy",
            "4.1",
            "8.1",
            "2020-02-13",
            "0",
        ),
        (
            "410.84.202201251210-0",
            "legacy",
            "4.10",
            "8.4",
            "2022-01-25",
            "0",
        ),
        ("420.8.20190708.2", "legacy", "4.2", "8", "2019-07-08", "2"),
        (
            "42.80.20191002.0",
            "legacy",
            "4.2",
            "8.0",
            "2019-10-02",
            "0",
        ),
        (
            "42s390x.81.20200131.0",
            "legacy",
            "4.2",
            "8.1",
            "2020-01-31",
            "0",
        ),
        (
            "43.81.202001142154.0",
            "legacy",
            "4.3",
            "8.1",
            "2020-01-14",
            "0",
        ),
        (
            "44.81.202003230949-0",
            "legacy",
            "4.4",
            "8.1",
            "2020-03-23",
            "0",
        ),
        (
            "418.810.202511191518-3",
            "legacy",
            "4.18",
            "8.10",
            "2025-11-19",
            "3",
        ),
        (
            "412.9.202211241749-0",
            "legacy",
            "4.12",
            "9",
            "2022-11-24",
            "0",
        ),
        ("9.6.20250523-0", "rhel", "", "9.6", "2025-05-23", "0"),
        ("10.2.20260423-1", "rhel", "", "10.2", "2026-04-23", "1"),
        // In a document that shows an aleph; the marketplace's have digits behind the day.
        ("9.6.20251015", "rhel", "", "9.6", "2025-10-15", ""),
        (
            "4.19.9.6.202506252250-0",
            "layered",
            "4.19",
            "9.6",
            "2025-06-25",
            "0",
        ),
        (
            "5.0.10.2.202605081313-0",
            "layered",
            "5.0",
            "10.2",
            "2026-05-08",
            "0",
        ),
        // CentOS Stream writes 0 for no minor.
        ("9.0.20250827-0", "rhel", "", "9", "2025-08-27", "0"),
        ("10.0.20250628-0", "rhel", "", "10", "2025-06-28", "0"),
        // The second field tells 42.2025... of Fedora from 42.80 of RHCOS.
        ("39.20231101.3.0", "fcos", "", "", "2023-11-01", "0"),
        ("42.20250901.3.0", "fcos", "", "", "2025-09-01", "0"),
    ] {
        assert_eq!(
            row(&ImageVersion::parse(text)),
            [scheme, ocp, rhel, date, build],
            "{text}"
        );
    }
}

#[test]
fn minor_nought_is_taken_at_its_word_only_on_rhel_and_only_where_it_is_one() {
    let on_rhel = |text: &str| {
        ImageVersion::parse(text)
            .on_rhel()
            .rhel
            .map(|rhel| rhel.to_string())
    };
    assert_eq!(on_rhel("9.0.20251023-0").as_deref(), Some("9.0"));
    assert_eq!(on_rhel("10.0.20250628-0").as_deref(), Some("10.0"));
    assert_eq!(on_rhel("9.6.20250523-0").as_deref(), Some("9.6"));
    assert_eq!(on_rhel("412.9.202211241749-0").as_deref(), Some("9"));
    assert_eq!(on_rhel("42.80.20191002.0").as_deref(), Some("8.0"));
    assert_eq!(on_rhel("39.20231101.3.0"), None);
}

#[test]
fn what_is_no_version_is_an_answer() {
    for text in [
        "",
        " ",
        "9.6.2026030314",
        "4.18.2026012111",
        "43.81.20200311",
        "4.21.3",
        "9.2",
        "latest",
        "418.94.202511191518",
        "1414.92.202308032115-0",
        "514.98.202308032115-0",
        "50.98.202701010000-0",
        "4100.94.202308032115-0",
        "4.94.202308032115-0",
        "418.94.202513191518-0",
        "418.94.202502301518-0",
        "418.94.202302291518-0",
        "418.94.202504311518-0",
        "418.94.202511310000-0",
        "418.94.202511192418-0",
        "418.94.202511191560-0",
        "418.94.20251119-",
        "418.94.202511191518-0 ",
        " 418.94.202511191518-0",
        "418.94.202511191518-0\n",
        "418.94.202511191518-00",
        "418.94.202511191518-+1",
        "418.94.202511191518--1",
        "418.94.202511191518-99999999999",
        "418.104.202511191518-0",
        "418.9444.202511191518-0",
        "418.64.202511191518-0",
        "418x.94.202511191518-0",
        "0418.94.202511191518-0",
        "4٣18.94.202511191518-0",
        "9.6.20250523.0",
        "9.6.20250523-",
        "9.6.20250523-0-dirty",
        "9.6.20250523-0.extra",
        "9.6.20250523 ",
        "418.94.202511191518-0-dirty",
        "4.19.9.6.20250625-0",
        "4.19.9.6.202506252250",
        "4.19.9.6.202506252250-0-1",
        "4.19.9.6.202506252460-0",
        "3.19.9.6.202506252250-0",
        "4.19.94.6.202506252250-0",
        "4.19-9.6-202506252250",
        "9.06.20250523-0",
        "99999.6.20250523-0",
        "9.6.19990523-0",
        "9.6.2025052-0",
        "9.6.2025052",
        "9.6.202505230000-0",
        "39.20231101.3",
        "39.20231101.3.0.1",
        "39.202311010.3.0",
        "27.20231101.3.0",
        "200.20231101.3.0",
        "39.20231101.x.0",
        "39.20231101.3.dev",
        "........",
        "----",
        "\u{0}",
        "418.94.202511191518-0\u{1b}[2J",
    ] {
        let version = ImageVersion::parse(text);
        assert_eq!(version.scheme, Scheme::Unknown, "{text:?}");
        assert_eq!(
            (
                version.rhel,
                version.ocp,
                version.build_date.clone(),
                version.build_number
            ),
            (None, None, None, None),
            "{text:?}"
        );
        assert!(!version.is_known());
    }
}

#[test]
fn of_two_builds_of_a_day_the_later_one_is_newer() {
    let [last, first] = ["418.94.202511190059-0", "418.94.202511190100-0"].map(ImageVersion::parse);
    assert!(last < first);
    assert!(first > last);
}

/// RHEL's minor bounds the release; the scheme without OCP release came with 4.19.
#[test]
fn an_image_without_ocp_release_is_of_those_that_its_rhel_has() {
    for (text, releases, below) in [
        (
            "9.6.20250523-0",
            "4.19 to 4.21",
            [Some(false), None, Some(true), Some(true)],
        ),
        (
            "9.6.20251015",
            "4.19 to 4.21",
            [Some(false), None, Some(true), Some(true)],
        ),
        (
            "9.8.20260428-0",
            "4.22 or later",
            [Some(false), Some(false), Some(false), None],
        ),
        (
            "10.2.20260423-0",
            "4.22 or later",
            [Some(false), Some(false), Some(false), None],
        ),
        // Minors that no release has yet.
        (
            "9.10.20280428-0",
            "4.22 or later",
            [Some(false), Some(false), Some(false), None],
        ),
        (
            "9.7.20260428-0",
            "4.19 or later",
            [Some(false), None, None, None],
        ),
        (
            "10.0.20250628-0",
            "4.19 or later",
            [Some(false), None, None, None],
        ),
        (
            "418.94.202511191518-0",
            "4.18",
            [Some(true), Some(true), Some(true), Some(true)],
        ),
        (
            "4.19.9.6.202506252250-0",
            "4.19",
            [Some(false), Some(true), Some(true), Some(true)],
        ),
    ] {
        let own = ImageVersion::parse(text).releases().unwrap();
        let is_below =
            ["4.19", "4.20", "4.22", "5.0"].map(|release| own.are_below(release.parse().unwrap()));
        assert_eq!(
            (own.to_string().as_str(), is_below),
            (releases, below),
            "{text}"
        );
    }
    let behind = |text: &str, target: &str| {
        let own = ImageVersion::parse(text).releases().unwrap();
        own.minors_to(target.parse().unwrap())
    };
    assert_eq!(behind("9.6.20250523-0", "4.22"), Some([1, 3]));
    assert_eq!(behind("9.6.20250523-0", "5.0"), Some([2, 4]));
    assert_eq!(behind("9.6.20250523-0", "4.18"), Some([0, 0]));
    assert_eq!(behind("9.8.20260428-0", "5.1"), Some([0, 2]));
    assert_eq!(behind("9.6.20250523-0", "6.0"), None);
    for text in ["39.20231101.3.0", "moon"] {
        assert_eq!(ImageVersion::parse(text).releases(), None, "{text}");
    }
}

#[test]
fn a_version_names_its_systems() {
    for (text, wanted) in [
        ("39.20231101.3.0", &["Fedora CoreOS"][..]),
        ("411.86.202308081056-0", &["RHEL 8.6", "OCP 4.11"]),
        ("9.6.20250523-0", &["RHEL 9.6"]),
        ("latest", &[]),
    ] {
        let status = crate::verdict::BootImageStatus::from(&ImageVersion::parse(text));
        assert_eq!(status.systems(), wanted, "{text}");
    }
}

#[test]
fn families_have_their_words() {
    let words = crate::version::OsFamily::ALL.map(|family| (family.as_str(), family.name()));
    assert_eq!(
        words,
        [
            ("rhcos", "RHCOS"),
            ("scos", "SCOS"),
            ("fcos", "Fedora CoreOS")
        ]
    );
}

#[test]
fn hostile_strings_are_kept_short_and_printable() {
    let long = ImageVersion::parse(&"9".repeat(1 << 20));
    assert_eq!(long.text.len(), 67);
    let odd = ImageVersion::parse("a\u{1b}[31m\n\\S\u{202e}é");
    assert_eq!(odd.text, "a\\u{1b}[31m\\n\\\\S\\u{202e}\\u{e9}");
}

/// A version string, and what its parts were.
#[derive(Debug, Clone)]
struct Built {
    text: String,
    ocp: Option<OcpMinor>,
    rhel: Option<RhelVersion>,
    date: String,
    build: u32,
}

fn a_date() -> impl Strategy<Value = (u16, u8, u8)> {
    (2019u16..2100, 1u8..=12, 1u8..=28)
}

/// `410.8.20190520.0` to `418.94.202511191518-0`.
fn a_legacy() -> impl Strategy<Value = Built> {
    let ocp = (Just(4u16), 1u16..100);
    let rhel = (7u16..10, proptest::option::of(0u16..100));
    let arch =
        prop_oneof![4 => Just(""), 1 => Just("s390x"), 1 => Just("ppc64le"), 1 => Just("aarch64")];
    let stamp = (a_date(), 0u8..24, 0u8..60);
    (ocp, rhel, arch, stamp, prop_oneof![Just('-'), Just('.')], 0u32..100).prop_map(
        |((major, minor), (rhel_major, rhel_minor), arch, ((y, m, d), hour, minute), dash, build)| Built {
            text: format!(
                "{major}{minor}{arch}.{rhel_major}{}.{y}{m:02}{d:02}{hour:02}{minute:02}{dash}{build}",
                rhel_minor.map(|minor| minor.to_string()).unwrap_or_default()
            ),
            ocp: Some(OcpMinor { major, minor }),
            rhel: Some(RhelVersion { major: rhel_major, minor: rhel_minor }),
            date: format!("{y}-{m:02}-{d:02}"),
            build,
        },
    )
}

/// With a date instead of a stamp; the OCP minor may have a nought behind it.
fn a_short_legacy() -> impl Strategy<Value = Built> {
    let rhel = (7u16..9, proptest::option::of(0u16..3));
    (
        1u16..10,
        any::<bool>(),
        rhel,
        a_date(),
        prop_oneof![Just('-'), Just('.')],
        0u32..100,
    )
        .prop_map(
            |(minor, nought, (rhel_major, rhel_minor), (y, m, d), dash, build)| Built {
                text: format!(
                    "4{minor}{}.{rhel_major}{}.{y}{m:02}{d:02}{dash}{build}",
                    if nought { "0" } else { "" },
                    rhel_minor
                        .map(|minor| minor.to_string())
                        .unwrap_or_default()
                ),
                ocp: Some(OcpMinor { major: 4, minor }),
                rhel: Some(RhelVersion {
                    major: rhel_major,
                    minor: rhel_minor,
                }),
                date: format!("{y}-{m:02}-{d:02}"),
                build,
            },
        )
}

fn a_rhel_versioned() -> impl Strategy<Value = Built> {
    (8u16..40, 0u16..100, a_date(), 0u32..100).prop_map(|(major, minor, (y, m, d), build)| Built {
        text: format!("{major}.{minor}.{y}{m:02}{d:02}-{build}"),
        ocp: None,
        rhel: Some(RhelVersion {
            major,
            minor: (minor != 0).then_some(minor),
        }),
        date: format!("{y}-{m:02}-{d:02}"),
        build,
    })
}

fn an_fcos() -> impl Strategy<Value = Built> {
    (28u16..100, a_date(), 1u16..92, 0u32..100).prop_map(|(fedora, (y, m, d), stream, build)| {
        Built {
            text: format!("{fedora}.{y}{m:02}{d:02}.{stream}.{build}"),
            ocp: None,
            rhel: None,
            date: format!("{y}-{m:02}-{d:02}"),
            build,
        }
    })
}

fn a_version() -> impl Strategy<Value = String> {
    let known = prop_oneof![a_legacy(), a_short_legacy(), a_rhel_versioned(), an_fcos()]
        .prop_map(|built| built.text);
    prop_oneof![4 => known, 4 => proptest::sample::select(image_versions()), 1 => "[0-9.a-z-]{0,24}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parse_then_print_is_the_identity_and_the_parts_come_back(
        (scheme, built) in prop_oneof![
            a_legacy().prop_map(|built| (Scheme::Legacy, built)),
            a_short_legacy().prop_map(|built| (Scheme::Legacy, built)),
            a_rhel_versioned().prop_map(|built| (Scheme::RhelVersioned, built)),
            an_fcos().prop_map(|built| (Scheme::Fcos, built)),
        ]
    ) {
        let version = ImageVersion::parse(&built.text);
        prop_assert_eq!(version.to_string(), built.text);
        prop_assert_eq!(version.scheme, scheme);
        prop_assert_eq!((version.ocp, version.rhel), (built.ocp, built.rhel));
        prop_assert_eq!(version.build_date.map(|date| date.to_string()), Some(built.date));
        prop_assert_eq!(version.build_number, Some(built.build));
    }

    #[test]
    fn any_text_is_printable_afterwards(text in any::<String>()) {
        let version = ImageVersion::parse(&text);
        prop_assert!(version.text.bytes().all(|b| (b' '..=b'~').contains(&b)));
    }

    #[test]
    fn the_order_is_total(a in a_version(), b in a_version(), c in a_version()) {
        let [a, b, c] = [a, b, c].map(|text| ImageVersion::parse(&text));
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        let mut sorted = [&a, &b, &c];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
    }

    #[test]
    fn the_order_agrees_with_rhel_and_then_with_the_date(a in a_version(), b in a_version()) {
        let [a, b] = [a, b].map(|text| ImageVersion::parse(&text));
        if let (Some(rhel_a), Some(rhel_b)) = (a.rhel, b.rhel) {
            match compare_rhel(rhel_a, rhel_b) {
                Some(Ordering::Equal) => {
                    let dates = a.build_date.cmp(&b.build_date);
                    prop_assert_eq!(compare_images(&a, &b), Some(dates));
                    if dates != Ordering::Equal {
                        prop_assert_eq!(a.cmp(&b), dates);
                    }
                }
                decided => {
                    prop_assert_eq!(compare_images(&a, &b), decided);
                    if let Some(decided) = decided {
                        prop_assert_eq!(a.cmp(&b), decided);
                    }
                }
            }
        } else {
            prop_assert_eq!(compare_images(&a, &b), None);
        }
    }

    /// An unknown minor decides nothing among images of its major, and everything against another
    /// major.
    #[test]
    fn what_is_unknown_is_not_guessed(major_a in 7u16..12, major_b in 7u16..12, minor in 0u16..11) {
        let (whole, half) = (RhelVersion { major: major_a, minor: Some(minor) }, RhelVersion { major: major_b, minor: None });
        let want = if major_a == major_b { None } else { Some(major_a.cmp(&major_b)) };
        prop_assert_eq!(compare_rhel(whole, half), want);
        prop_assert_eq!(compare_rhel(half, whole), want.map(Ordering::reverse));
    }
}

#[test]
fn a_day_that_no_calendar_has_is_no_build_date() {
    for (version, scheme) in [
        ("416.94.202402291200-0", Scheme::Legacy),
        ("412.86.202302281200-0", Scheme::Legacy),
        ("412.86.202302291200-0", Scheme::Unknown),
        ("416.94.202402301200-0", Scheme::Unknown),
        ("412.86.202304311200-0", Scheme::Unknown),
    ] {
        assert_eq!(ImageVersion::parse(version).scheme, scheme, "{version}");
    }
}

#[test]
fn an_aleph_names_its_version_or_else_its_build() {
    let version = |aleph: &str| crate::aleph::version(aleph.as_bytes()).map(|version| version.text);
    let new = "416.94.202407030122-0";
    assert_eq!(
        version(r#"{"build":"b","version":" 416.94.202407030122-0\n"}"#).as_deref(),
        Ok(new)
    );
    for aleph in [
        r#"{"build":"416.94.202407030122-0"}"#,
        r#"{"build":"416.94.202407030122-0","version":null}"#,
        r#"{"build":"416.94.202407030122-0","version":" "}"#,
    ] {
        assert_eq!(version(aleph).as_deref(), Ok(new), "{aleph}");
    }
    for aleph in ["{}", r#"{"version":""}"#, r#"{"version":null}"#] {
        assert_eq!(
            version(aleph),
            Err("names no version".to_owned()),
            "{aleph}"
        );
    }
}
