//! From texts to what is said of each object in them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::{
    super::{output, texts::File},
    Given, Sources,
    remark::{About, Remark},
};
use crate::{
    admission::{
        Snapshot,
        offline::{self, Answer, CannotReview, Namespaces, Reviewer},
        policy::{self, EndpointPolicy, Policies, version},
    },
    convert,
    decode::{self, Document, Source},
    engine::reason::{Finding, Severity},
    inventory::Inventory,
    model::{ObjectKey, Text},
};

/// All objects of the input, and whether that was all of it.
pub(super) struct Judged<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) complete: bool,
}

/// An object of the input.
pub(super) struct Item<'a> {
    pub(super) file: &'a str,
    pub(super) document: Document<'a>,
    pub(super) key: ObjectKey,
    /// What comes of it; `None` where no rule looks at its kind, or where it cannot be read.
    pub(super) answer: Option<Answer>,
    /// What the rules say.
    pub(super) remarks: Vec<Remark<'a>>,
    /// What is wrong with it, before any rule is asked.
    pub(super) of_input: Vec<Remark<'a>>,
    /// Whether it is what its kind says.
    readable: bool,
}

impl<'a> Judged<'a> {
    /// What the rules say of all objects.
    pub(super) fn remarks(&self) -> impl Iterator<Item = &Remark<'a>> {
        self.items.iter().flat_map(|i| &i.remarks)
    }
}

/// What holds and what is known, while it is gathered.
#[derive(Default)]
struct Known {
    policies: Vec<EndpointPolicy>,
    inventory: Inventory,
    namespaces: Namespaces,
}

/// Reads everything, and reviews what rules look at.
pub(super) fn all<'a>(sources: &Sources, given: &'a Given) -> anyhow::Result<Judged<'a>> {
    let mut known = Known::default();
    let complete_policies = known.policies_of(given)?;
    let (files, mut complete) = given.files.files();
    let (old, complete_old) = given.old.files();
    complete &= complete_policies && complete_old;
    let mut items = Vec::new();
    for file in files {
        items.append(&mut known.objects_of(file)?);
    }
    let (stored, complete_stored) = known.stored(sources, &old, &items)?;
    complete &= complete_stored;
    let (policies, problems) = Policies::new(known.policies);
    for problem in problems {
        output::warning(&format!("{}: {}", problem.object, problem.message));
    }
    let snapshot = Snapshot::of(&known.inventory);
    let reviewer = Reviewer {
        policies: &policies,
        cluster: &snapshot,
        namespaces: &known.namespaces,
        user: sources.user.as_deref().unwrap_or_default(),
        groups: &sources.group,
        namespace: &sources.namespace,
    };
    for item in items.iter_mut().filter(|i| i.readable) {
        item.review(&reviewer, stored.get(&placed(&item.key, &sources.namespace)).copied());
    }
    if let Some(name) = policies.asks_for_namespace_labels()
        && known.namespaces.is_empty()
        && items.iter().any(|i| i.answer.is_some())
    {
        output::warning(&format!(
            "{} {name} asks for labels of namespaces, and there is no Namespace in the input: it holds for none",
            version::KIND
        ));
    }
    Ok(Judged { items, complete })
}

impl Known {
    /// Policies that were given as such: all of them must be right.
    fn policies_of(&mut self, given: &Given) -> anyhow::Result<bool> {
        let (files, mut complete) = given.policies.files();
        for File { name, documents } in files {
            for document in documents {
                let key = convert::key(&document.raw);
                let about = About::of(name, &document, &key);
                if !is_policy(&key, &document.raw) {
                    anyhow::bail!("{name}:{}: {:?} is no EndpointPolicy", document.line, key.kind.as_str());
                }
                complete &= self.hold(about);
            }
        }
        Ok(complete)
    }

    /// The policy holds; whether it can be read, and so does.
    fn hold(&mut self, about: About<'_, '_>) -> bool {
        let (policy, problems) = policy::read(&about.document.raw);
        problems.iter().map(|p| Remark::of_problem(about, p)).for_each(|r| r.complain());
        let readable = policy.is_some();
        self.policies.extend(policy);
        readable
    }

    /// The objects of a file. Policies among them hold, namespaces and the kinds that are read are known.
    fn objects_of<'a>(&mut self, file: File<'a>) -> anyhow::Result<Vec<Item<'a>>> {
        let File { name, documents } = file;
        let mut told: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
        decode::objects(&documents, &Source::file(name), &mut self.inventory, |i, problems| {
            told.insert(i, problems.to_vec());
        })?;
        let mut items = Vec::with_capacity(documents.len());
        for (i, document) in documents.into_iter().enumerate() {
            let key = convert::key(&document.raw);
            let about = About::of(name, &document, &key);
            let mut problems = told.remove(&i).unwrap_or_default();
            if is_policy(&key, &document.raw) {
                let (policy, mut more) = policy::read(&document.raw);
                problems.append(&mut more);
                self.policies.extend(policy);
            }
            offline::note_namespace(&document.raw, &key, &mut self.namespaces);
            let problems = problems.iter().filter(|p| !offline::is_filled_in(p, &document.raw));
            let of_input: Vec<Remark<'a>> = problems.map(|p| Remark::of_problem(about, p)).collect();
            let readable = of_input.iter().all(|r| r.severity < Severity::Error);
            items.push(Item { file: name, document, key, answer: None, remarks: Vec::new(), of_input, readable });
        }
        Ok(items)
    }

    /// What is stored, by its key. What nothing of the input replaces is known as part of the cluster, and its policies
    /// hold. The flag: all of them could be read.
    fn stored<'o>(
        &mut self,
        sources: &Sources,
        old: &'o [File<'_>],
        items: &[Item<'_>],
    ) -> anyhow::Result<(BTreeMap<ObjectKey, &'o RawValue>, bool)> {
        let new: BTreeSet<ObjectKey> = items.iter().map(|i| placed(&i.key, &sources.namespace)).collect();
        let (mut stored, mut complete) = (BTreeMap::new(), true);
        for File { name, documents } in old {
            let mut rest = Vec::new();
            for document in documents {
                let key = convert::key(&document.raw);
                offline::note_namespace(&document.raw, &key, &mut self.namespaces);
                let replaced = || self.policies.iter().any(|p| p.meta.name == key.name);
                if is_policy(&key, &document.raw) && !replaced() {
                    complete &= self.hold(About::of(name, document, &key));
                }
                let key = placed(&key, &sources.namespace);
                if new.contains(&key) {
                    stored.insert(key, document.raw.as_ref());
                } else {
                    rest.push(document.clone());
                }
            }
            let tell = |_, problems: &[Finding]| {
                for problem in problems.iter().filter(|p| p.severity == Severity::Error) {
                    output::warning(&problem.message);
                }
            };
            decode::objects(&rest, &Source::file(name), &mut self.inventory, tell)?;
        }
        Ok((stored, complete))
    }
}

impl Item<'_> {
    fn review(&mut self, reviewer: &Reviewer<'_>, old: Option<&RawValue>) {
        let recorded = self.key.kind == "AdmissionReview";
        let answered: Result<Answer, CannotReview> = if recorded {
            reviewer.recorded(&self.document.raw).map(|(key, answer)| {
                self.key = key;
                answer
            })
        } else {
            reviewer.object(&self.document.raw, old)
        };
        let root = if recorded { "request.object" } else { "" };
        let about = About { root, ..About::of(self.file, &self.document, &self.key) };
        let answer = match answered {
            Ok(answer) if answer.reviewed || recorded => answer,
            Ok(_) => return,
            Err(error) => {
                self.of_input.push(Remark::invalid(about, error.to_string()));
                return;
            }
        };
        self.remarks = Remark::of_decision(about, &answer.decision);
        // A rule could not read what the reader of objects could.
        if self.remarks.is_empty() && answer.reviewed {
            let unseen = answer.decision.why_unseen();
            self.of_input.extend(unseen.map(|why| Remark::invalid(about, why.to_owned())));
        }
        self.answer = Some(answer);
    }
}

fn is_policy(key: &ObjectKey, raw: &RawValue) -> bool {
    let group = || convert::raw::Members::read(raw).is_ok_and(|o| o.text("apiVersion").starts_with(version::GROUP));
    key.kind == version::KIND && group()
}

/// The key of an object that is in this namespace, unless it says another.
fn placed(key: &ObjectKey, namespace: &str) -> ObjectKey {
    let namespace = if key.namespace.is_empty() { Text::new(namespace) } else { key.namespace.clone() };
    ObjectKey { namespace, ..key.clone() }
}
