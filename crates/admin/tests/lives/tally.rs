//! All lives, by fate.

use super::NOT_YET;
use super::truth::{Listed, Truth, Worth};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

pub(super) struct Life<'a> {
    pub(super) about: &'a str,
    pub(super) truth: &'a Truth,
    pub(super) is_whole: bool,
    pub(super) worth: Worth,
    pub(super) note: String,
    pub(super) answers: Vec<&'a Value>,
}

#[derive(Clone, Copy, Default)]
struct Row {
    lives: usize,
    whole: usize,
    /// Of whole gathers.
    told: usize,
    stage: usize,
    uncertain: usize,
    silent: usize,
    wrong: usize,
}

impl Row {
    /// One fate that is never told is not lost among the others.
    fn is_behind(&self) -> bool {
        self.whole >= 8 && self.told * 4 < self.whole * 3
    }
}

pub(super) struct Tally {
    is_all: bool,
    rows: BTreeMap<&'static str, Row>,
    faults: Vec<String>,
    /// What is not told of whole gathers, and not wrong.
    untold: Vec<String>,
}

impl Tally {
    pub(super) fn new(is_all: bool) -> Self {
        Self {
            is_all,
            rows: BTreeMap::new(),
            faults: Vec::new(),
            untold: Vec::new(),
        }
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        for (fate, row) in other.rows {
            let mine = self.rows.entry(fate).or_default();
            mine.lives += row.lives;
            mine.whole += row.whole;
            mine.told += row.told;
            mine.stage += row.stage;
            mine.uncertain += row.uncertain;
            mine.silent += row.silent;
            mine.wrong += row.wrong;
        }
        self.faults.extend(other.faults);
        self.untold.extend(other.untold);
        self
    }

    pub(super) fn faults(&self) -> usize {
        self.faults.len() + self.untold.len()
    }

    pub(super) fn fault(&mut self, rule: &str, what: String) {
        if self.is_all || !NOT_YET.contains(&rule) {
            self.faults.push(what);
        }
    }

    pub(super) fn add(&mut self, life: Life) {
        let row = self.rows.entry(life.truth.fate).or_default();
        row.lives += 1;
        let said = life
            .answers
            .first()
            .map_or(String::new(), |answer| answer["sentence"].to_string());
        let line = format!(
            "{}: {} of {}: {:?}: {}; true: {:?}; said: {said}",
            life.about,
            life.truth.names[0],
            life.truth.fate,
            life.worth,
            life.note,
            life.truth.stages
        );
        if life.worth == Worth::Wrong {
            row.wrong += 1;
            self.faults.push(line);
            return;
        }
        if !life.is_whole || !life.truth.is_tellable {
            return;
        }
        row.whole += 1;
        match life.worth {
            Worth::Silent if life.truth.listed != Listed::Yes => row.told += 1,
            Worth::Told => row.told += 1,
            Worth::Stage => row.stage += 1,
            Worth::Uncertain => row.uncertain += 1,
            _ => row.silent += 1,
        }
        let is_right = life.worth == Worth::Told
            || (life.worth == Worth::Silent && life.truth.listed != Listed::Yes);
        if !is_right {
            self.untold.push(line);
        }
    }

    /// What has to hold of all of them.
    pub(super) fn hold(&self) {
        let (mut whole, mut staged, mut told) = (0, 0, 0);
        for row in self.rows.values() {
            whole += row.whole;
            staged += row.told + row.stage;
            told += row.told;
        }
        let untold = if self.is_all {
            self.untold.as_slice()
        } else {
            &[]
        };
        let some = |of: &[String]| {
            of.iter()
                .take(if self.is_all { 400 } else { 12 })
                .fold(String::new(), |all, line| all + line + "\n")
        };
        assert!(
            self.faults.is_empty(),
            "{self}{}{}{} faults",
            some(untold),
            some(&self.faults),
            self.faults.len()
        );
        assert!(
            staged * 100 >= whole * 95 && told * 100 >= whole * 95,
            "{self}{}of {whole} lives in whole gathers {staged} have the right stage, {told} with the cause",
            some(&self.untold),
        );
        let behind: Vec<&str> = self
            .rows
            .iter()
            .filter(|row| row.1.is_behind())
            .map(|row| *row.0)
            .collect();
        assert!(
            behind.is_empty(),
            "{self}{}fates without their cause: {behind:?}",
            some(&self.untold)
        );
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        writeln!(
            out,
            "{:34} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}",
            "fate", "lives", "whole", "told", "stage", "other", "silent", "WRONG"
        )?;
        let mut sum = Row::default();
        for (fate, row) in &self.rows {
            line(out, fate, row)?;
            sum.lives += row.lives;
            sum.whole += row.whole;
            sum.told += row.told;
            sum.stage += row.stage;
            sum.uncertain += row.uncertain;
            sum.silent += row.silent;
            sum.wrong += row.wrong;
        }
        line(out, "all", &sum)
    }
}

fn line(out: &mut fmt::Formatter, name: &str, row: &Row) -> fmt::Result {
    writeln!(
        out,
        "{name:34} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}",
        row.lives, row.whole, row.told, row.stage, row.uncertain, row.silent, row.wrong
    )
}
