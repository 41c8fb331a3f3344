//! `roster plan --against` of many Services: what differs, and for how many of them.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    io::{self, Write},
};

use roster_engine::compare::{Aspect, Deviation, Verb};

use crate::cli::{
    style::DIM,
    table::{Cell, Table},
};

/// The most Services that are named for a cause.
const NAMED: usize = 2;

/// What differs in one kind of object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KindDifference {
    kind: &'static str,
    /// The words for what both releases do.
    verbs: (&'static str, &'static str),
    aspects: Vec<Aspect>,
}

/// The Services that differ between two releases, by all that differs.
#[derive(Debug, Default)]
pub(super) struct UpgradeGroups {
    groups: BTreeMap<Vec<KindDifference>, ServiceNames>,
}

/// Some Services: the first ones by name, the others counted.
#[derive(Debug, Default)]
struct ServiceNames {
    first: Vec<String>,
    count: usize,
}

impl UpgradeGroups {
    /// Adds a Service.
    pub(super) fn add(&mut self, service: &str, deviations: &[Deviation]) {
        let differences = deviations.iter().map(|d| KindDifference {
            kind: d.kind,
            verbs: (d.compat.word(), d.against.word()),
            aspects: d.aspects.iter().cloned().collect(),
        });
        let mut differences: Vec<KindDifference> = differences.collect();
        differences.sort_unstable();
        differences.dedup();
        let names = self.groups.entry(differences).or_default();
        names.count += 1;
        if names.first.len() < NAMED {
            names.first.push(service.to_owned());
        }
    }

    /// Writes the groups, the largest first. `releases` are the headings for what each of them does.
    pub(super) fn write(&self, out: &mut dyn Write, releases: [&str; 2], width: Option<usize>) -> io::Result<()> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_unstable_by_key(|(differences, names)| (Reverse(names.count), *differences));
        let [before, after] = releases;
        let mut table = Table::new(["SERVICES", "OBJECT", before, after, "DIFFERENCE", "EXAMPLES"]);
        for (differences, names) in groups {
            let alone = differences.len() == 1;
            for (row, difference) in differences.iter().enumerate() {
                // The Services of a group are named in its first row.
                let (count, examples) =
                    if row == 0 { (names.count.to_string(), names.text()) } else { (String::new(), String::new()) };
                table.push([
                    count.into(),
                    difference.kind.into(),
                    Cell::styled(difference.verbs.0, DIM),
                    difference.verbs.1.into(),
                    difference.text(alone).into(),
                    examples.into(),
                ]);
            }
        }
        table.print_to(out, 0, width)
    }
}

impl KindDifference {
    /// What differs; `alone` if nothing else does.
    fn text(&self, alone: bool) -> String {
        let aspects: Vec<String> = self.aspects.iter().map(ToString::to_string).collect();
        match (&aspects[..], alone) {
            // One release writes the object, and the other one does not; or one writes it again and again.
            ([], _) if [self.verbs.0, self.verbs.1].contains(&Verb::Rewrite.word()) => "endless update".to_owned(),
            ([], _) => "the whole object".to_owned(),
            ([aspect], true) => format!("{aspect} only"),
            (aspects, _) => aspects.join(", "),
        }
    }
}

impl ServiceNames {
    fn text(&self) -> String {
        let more = self.count - self.first.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", self.first.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(kind: &'static str, verbs: (Verb, Verb), aspects: &[Aspect]) -> Deviation {
        Deviation {
            kind,
            name: "web".to_owned(),
            compat: verbs.0,
            against: verbs.1,
            detail: String::new(),
            aspects: aspects.iter().cloned().collect(),
        }
    }

    #[test]
    fn services_are_grouped_by_what_differs() {
        let update = (Verb::None, Verb::Update);
        let label = [Aspect::Label("endpoints.kubernetes.io/managed-by".into())];
        let mut groups = UpgradeGroups::default();
        for service in ["shop/a", "shop/b", "shop/c"] {
            groups.add(service, &[deviation("Endpoints", update, &label)]);
        }
        let hints = [Aspect::Field("hints"), Aspect::Readiness];
        let both = [deviation("Endpoints", update, &label), deviation("EndpointSlice", update, &hints)];
        (0..4).for_each(|n| groups.add(&format!("shop/hints-{n}"), &both));
        groups.add("shop/new", &[deviation("EndpointSlice", (Verb::None, Verb::Create), &[])]);
        groups.add("shop/loop", &[deviation("Endpoints", (Verb::None, Verb::Rewrite), &[])]);
        for (width, want) in [
            (
                None,
                "\
SERVICES  OBJECT         1.30  1.37     DIFFERENCE                                     EXAMPLES
4         EndpointSlice  none  update   readiness, hints                               shop/hints-0, shop/hints-1 and 2 more
          Endpoints      none  update   label endpoints.kubernetes.io/managed-by
3         Endpoints      none  update   label endpoints.kubernetes.io/managed-by only  shop/a, shop/b and 1 more
1         EndpointSlice  none  create   the whole object                               shop/new
1         Endpoints      none  rewrite  endless update                                 shop/loop
",
            ),
            (
                Some(80),
                "\
SERVICES  OBJECT         1.30  1.37     DIFFERENCE
    EXAMPLES
4         EndpointSlice  none  update   readiness, hints
    shop/hints-0, shop/hints-1 and 2 more
          Endpoints      none  update   label endpoints.kubernetes.io/managed-by
3         Endpoints      none  update   label endpoints.kubernetes.io/managed-by
                                        only
    shop/a, shop/b and 1 more
1         EndpointSlice  none  create   the whole object
    shop/new
1         Endpoints      none  rewrite  endless update
    shop/loop
",
            ),
        ] {
            let mut out = Vec::new();
            groups.write(&mut out, ["1.30", "1.37"], width).unwrap();
            let got = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
            assert_eq!(got, want, "{width:?}");
        }
    }
}
