//! What holds for all of an answer, whatever became of the machines.

use super::cluster::Cluster;
use super::fates::claims;
use super::gather::Missing;
use super::tally::Tally;
use super::truth::{Listed, Truth};
use super::{Answer, is_of, machines};
use serde_json::Value;

pub(super) fn check(
    cluster: &Cluster,
    missing: Missing,
    answer: &Answer,
    about: &str,
    tally: &mut Tally,
) {
    let is_printed = |text: &str| answer.texts.iter().any(|of| of.contains(text));
    for secret in cluster.secrets.iter().filter(|secret| is_printed(secret)) {
        tally.fault("secret", format!("{about}: {secret} is printed"));
    }
    // What Events alone say is not known without them.
    let is_known = |truth: &Truth| missing != Missing::Events || truth.by_event.is_empty();
    let mut truths = cluster.truths.iter();
    let is_waiting = truths.any(|truth| truth.listed == Listed::Yes && is_known(truth));
    if is_printed("No machine waits") && (missing.hides_machines() || is_waiting) {
        let text = format!("{about}: it says that no machine waits");
        tally.fault("all-clear", text);
    }
    let is_silent = machines(answer).is_empty() && missing.hides_machines();
    let unread = answer.report.as_ref().map(|report| &report["unread"]);
    if is_silent && unread.is_some_and(|unread| unread.as_array().is_none_or(Vec::is_empty)) {
        let text = format!("{about}: it says nothing of what was not read");
        tally.fault("silence", text);
    }
    for machine in machines(answer) {
        check_doubt(machine, about, tally);
        check_claims(cluster, machine, about, tally);
        if !missing.hides_machines() {
            check_listed(cluster, machine, about, tally);
        }
    }
}

/// A machine that joined, or that nobody ever made, waits for nothing.
fn check_listed(cluster: &Cluster, machine: &Value, about: &str, tally: &mut Tally) {
    let is_known = cluster
        .truths
        .iter()
        .any(|truth| is_of(machine, &truth.names));
    let (name, sentence) = (&machine["name"], &machine["sentence"]);
    if is_of(machine, &cluster.healthy) {
        let text = format!("{about}: {name} joined, and is listed: {sentence}");
        tally.fault("healthy", text);
    } else if !is_known && !is_of(machine, &cluster.strangers) {
        let text = format!("{about}: {name} is listed, and is no machine: {sentence}");
        tally.fault("listed", text);
    }
}

/// What is certain names its proof; what is not, what would settle it.
fn check_doubt(machine: &Value, about: &str, tally: &mut Tally) {
    let is_proved = machine["proof"]["by"].is_string();
    if (machine["isCertain"] == true) != is_proved {
        let text = format!("{about}: {}: proof: {}", machine["name"], machine["proof"]);
        tally.fault("proof", text);
    }
    let unseen = machine["unseen"].as_array().map_or(0, Vec::len);
    if machine["isCertain"] == false && unseen == 0 {
        let (name, sentence) = (&machine["name"], &machine["sentence"]);
        let text = format!("{about}: {name} is not certain, and lacks nothing: {sentence}");
        tally.fault("unseen", text);
    }
}

/// What another node says of its image is no fact about this one.
fn check_claims(cluster: &Cluster, machine: &Value, about: &str, tally: &mut Tally) {
    let sentence = machine["sentence"].as_str().unwrap_or_default();
    let is_claimed = cluster
        .truths
        .iter()
        .any(|truth| truth.is_claimed && is_of(machine, &truth.names));
    let is_quoted = ["report", "label", "says"]
        .iter()
        .any(|word| sentence.contains(word));
    if sentence.contains(claims::IMAGE) && !is_claimed && !is_quoted {
        let text = format!("{about}: another's claim as a fact: {sentence}");
        tally.fault("claim-as-fact", text);
    }
}
