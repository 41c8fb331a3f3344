//! What came of the comparisons.

use std::collections::BTreeMap;
use std::time::Duration;

/// What was counted. A comparison is one state with one release.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) comparisons: u64,
    /// The same at once.
    pub(crate) agreed: u64,
    /// Of the program that leaves the order to Go: another run than the first gave the answer.
    pub(crate) later: u64,
    /// Of that program: no run gave the answer, and they gave several others.
    pub(crate) unseen: u64,
    pub(crate) deviations: BTreeMap<&'static str, u64>,
    pub(crate) by_controller: BTreeMap<String, u64>,
    /// Comparisons of states in which the reference writes something.
    pub(crate) writing: u64,
    pub(crate) differences: Vec<String>,
    /// How many differences were described in full.
    pub(crate) shown: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.comparisons += other.comparisons;
        self.agreed += other.agreed;
        self.later += other.later;
        self.unseen += other.unseen;
        self.writing += other.writing;
        for (k, n) in other.deviations {
            *self.deviations.entry(k).or_default() += n;
        }
        for (k, n) in other.by_controller {
            *self.by_controller.entry(k).or_default() += n;
        }
        self.differences.extend(other.differences);
    }

    pub(crate) fn failed(&self) -> usize {
        self.differences.len()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate for a person")]
    pub(crate) fn print<'a>(&self, time: Duration, versions: impl Iterator<Item = &'a str>) {
        let seconds = time.as_secs_f64();
        println!(
            "{} comparisons with Kubernetes {} in {seconds:.1} s ({:.0} a second); {} of them write something",
            self.comparisons,
            versions.collect::<Vec<_>>().join(", "),
            self.comparisons as f64 / seconds,
            self.writing,
        );
        let kinds: Vec<String> = self.by_controller.iter().map(|(k, n)| format!("{k} {n}")).collect();
        println!("  {}", kinds.join(", "));
        println!("  {} agreed", self.agreed);
        if self.later > 0 {
            println!("  {} agreed with a later run than the first", self.later);
        }
        if self.unseen > 0 {
            println!("  {} cannot be compared: every run gave another answer than the ordered program", self.unseen);
        }
        for (name, n) in &self.deviations {
            println!("  {n} {name}");
        }
        for d in &self.differences {
            println!("  differs: {d}");
        }
        println!("{} passed, {} failed", self.comparisons - self.differences.len() as u64, self.differences.len());
    }
}
