//! All objects of the input, with the answers and findings for each.

use std::collections::BTreeSet;

use roster_admission::{
    offline_review::{self, Namespaces, OfflineReview, Reviewer},
    policy::{self, EndpointPolicy, Policies},
};
use roster_engine::{
    model::{
        ObjectKey, Text,
        installed::{POLICY_GROUP, POLICY_KIND},
        json::raw::{JsonMembers, object_key},
    },
    phrase::counted,
    reason::{Finding, Severity},
};
use roster_manifests::{
    decode,
    inventory::{
        Answers, Findings, Inventory, Snapshot,
        workloads::{ObjectDocuments, UnreadObjects},
    },
    units::Units,
};
use serde_json::value::RawValue;

use super::{
    cluster_findings::{self, ComparedInput},
    file_finding::{FileFinding, FileObject},
    finding_room::{FindingRoom, MAX_FINDINGS},
    reviewed_object::{ReviewedObject, placed},
    source_args::{SourceArgs, SourceTexts},
};
use crate::cli::{input_texts::InputFile, manifest_texts::unit_files, messages};

/// All objects of the input.
pub(super) struct ReviewedInput<'a> {
    pub(super) objects: Vec<ReviewedObject<'a>>,
    /// Whether all of the input was read.
    pub(super) complete: bool,
}

impl<'a> ReviewedInput<'a> {
    /// The finding that some are not listed, at the first object that has some.
    pub(super) fn unlisted(&self) -> Option<FileFinding<'a>> {
        let mut unlisted = self.objects.iter().filter_map(|object| Some((object, object.unlisted?)));
        let (first, mut severity) = unlisted.next()?;
        let mut others = 0;
        for (_, other) in unlisted {
            others += 1;
            severity = severity.max(other);
        }
        let of = if others == 0 { String::new() } else { format!(" and {}", counted(others, "more object")) };
        let message = format!("the findings of this{of} are not listed: a run lists {MAX_FINDINGS}");
        let at = FileObject::of(first.file, &first.document, &first.key);
        Some(FileFinding { severity, ..FileFinding::not_checked(at, message) })
    }

    /// The findings behind the answers for all objects.
    pub(super) fn answer_findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        self.objects.iter().flat_map(ReviewedObject::answer_findings)
    }

    /// The objects that have an answer, with it.
    pub(super) fn answers(&self) -> impl Iterator<Item = (&ReviewedObject<'a>, &OfflineReview)> {
        self.objects.iter().filter_map(|o| Some((o, o.answer.as_ref()?)))
    }
}

/// The policies in force and the cluster around the reviewed objects, while they are collected.
#[derive(Default)]
struct ReviewContext {
    policies: Vec<EndpointPolicy>,
    inventory: Inventory,
    /// The documents of the objects in it.
    documents: ObjectDocuments,
    /// How many documents there are.
    count: usize,
    namespaces: Namespaces,
    room: FindingRoom,
}

/// Decodes all objects, and reviews those of the kinds that have rules.
pub(super) fn read<'a>(sources: &SourceArgs, texts: &'a SourceTexts) -> anyhow::Result<ReviewedInput<'a>> {
    let (files, complete) = texts.files.files();
    let (files, units) = in_units(files);
    read_files(sources, texts, files, Reading { complete, units, ..Reading::default() })
}

/// The files in the order of their units.
fn in_units(files: Vec<InputFile<'_>>) -> (Vec<InputFile<'_>>, Units) {
    let order = Units::order(&files.iter().map(|file| file.name).collect::<Vec<_>>());
    let mut files: Vec<Option<InputFile<'_>>> = files.into_iter().map(Some).collect();
    let files: Vec<InputFile<'_>> = order.into_iter().filter_map(|place| files[place].take()).collect();
    let units = Units::of(&unit_files(&files));
    (files, units)
}

/// How files are read.
#[derive(Default)]
pub(super) struct Reading {
    /// Whether these are all files.
    pub(super) complete: bool,
    /// Whether these are manifests that nobody writes yet. An object that comes from a cluster is stored there as it is:
    /// nothing refuses it any more.
    pub(super) manifests: bool,
    /// What of the files cannot be read.
    pub(super) unread: UnreadObjects,
    /// What of them is applied together.
    pub(super) units: Units,
}

/// The same for `files` instead of those of the sources.
pub(super) fn read_files<'a>(
    sources: &SourceArgs,
    texts: &SourceTexts,
    files: Vec<InputFile<'a>>,
    Reading { mut complete, manifests, unread, units }: Reading,
) -> anyhow::Result<ReviewedInput<'a>> {
    let mut context = ReviewContext::default();
    context.inventory.unread.merge(unread);
    let complete_policies = context.read_policies(texts)?;
    let (old, complete_old) = texts.stored.files();
    complete &= complete_policies && complete_old;
    let mut items = Vec::new();
    for file in files {
        items.append(&mut context.objects_of(sources, file)?);
    }
    let (stored, complete_stored) = context.stored(sources, &old, &items)?;
    complete &= complete_stored;
    let (policies, findings) = Policies::new(std::mem::take(&mut context.policies));
    for finding in findings {
        messages::warning(&format!("{}: {}", finding.object, finding.message));
    }
    let snapshot = Snapshot::of_part(&context.inventory);
    let cluster = Answers(&snapshot);
    let reviewer = Reviewer {
        policies: &policies,
        cluster: &cluster,
        namespaces: &context.namespaces,
        user: sources.user.as_deref().unwrap_or_default(),
        groups: &sources.group,
        namespace: &sources.namespace,
    };
    let mut room = FindingRoom::default();
    for item in &mut items {
        if item.readable {
            let key = placed(&item.key, &sources.namespace);
            let old = stored.binary_search_by(|(known, _)| known.cmp(&key)).ok().and_then(|place| stored[place].1);
            let before = item.count();
            item.review(&reviewer, old, manifests);
            item.keep_within(&mut room, before);
        } else {
            item.refuse_unreadable();
        }
    }
    let ReviewContext { inventory, documents, .. } = &context;
    cluster_findings::add(&mut items, sources, &ComparedInput { inventory, documents, units: &units })?;
    if let Some(name) = policies.first_with_namespace_labels()
        && context.namespaces.is_empty()
        && items.iter().any(|i| i.answer.is_some())
    {
        messages::warning(&format!(
            "{POLICY_KIND} {name} selects namespaces by label, and the input has no Namespace: the policy applies to no object"
        ));
    }
    Ok(ReviewedInput { objects: items, complete })
}

/// The keys of the input in order, each with the stored object that it updates, if there is one.
type UpdatedObjects<'o> = Vec<(ObjectKey, Option<&'o RawValue>)>;

impl ReviewContext {
    /// Reads the policies of `--policy`. Returns whether all of them can be read.
    fn read_policies(&mut self, texts: &SourceTexts) -> anyhow::Result<bool> {
        let (files, mut complete) = texts.policies.files();
        for InputFile { name, documents, .. } in files {
            for document in documents {
                let key = object_key(&document.raw);
                let at = FileObject::of(name, &document, &key);
                if !is_policy(&key, &document.raw) {
                    anyhow::bail!("{name}:{}: {:?} is not an EndpointPolicy", document.line, key.kind.as_str());
                }
                complete &= self.add_policy(at);
            }
        }
        Ok(complete)
    }

    /// Puts a policy in force. Returns whether it can be read.
    fn add_policy(&mut self, at: FileObject<'_, '_>) -> bool {
        let (policy, problems) = policy::read(&at.document.raw);
        FileFinding::of_input(at, &problems).iter().for_each(FileFinding::print_message);
        let readable = policy.is_some();
        self.policies.extend(policy);
        readable
    }

    /// The objects of a file. Policies among them are put in force; Namespaces and decoded kinds describe the cluster.
    fn objects_of<'a>(&mut self, sources: &SourceArgs, file: InputFile<'a>) -> anyhow::Result<Vec<ReviewedObject<'a>>> {
        let InputFile { name, documents, is_listed } = file;
        let mut findings_of = vec![Vec::new(); documents.len()];
        let (start, numbers) = (self.count, &mut self.documents);
        decode::objects(&documents, &sources.source(name), &mut self.inventory, |i, one| {
            findings_of[i] = all_findings(&one.problems);
            numbers.add(start + i, one);
        })?;
        self.count += documents.len();
        let mut items = Vec::with_capacity(documents.len());
        for (document, mut problems) in documents.into_iter().zip(findings_of) {
            let key = object_key(&document.raw);
            let at = FileObject::of(name, &document, &key);
            if is_policy(&key, &document.raw) {
                let (policy, mut more) = policy::read(&document.raw);
                problems.append(&mut more);
                self.policies.extend(policy);
            }
            offline_review::note_namespace(&document.raw, &key, &mut self.namespaces);
            let problems = problems.iter().filter(|p| !offline_review::is_filled_in(p, &key));
            let input_findings = FileFinding::of_input(at, problems);
            let readable = input_findings.iter().all(|f| f.severity < Severity::Error);
            let mut item = ReviewedObject {
                file: name,
                document,
                key,
                answer: None,
                rule_findings: Vec::new(),
                input_findings,
                readable,
                unit: 0,
                is_listed,
                has_schema: false,
                unlisted: None,
            };
            item.keep_within(&mut self.room, (0, 0));
            items.push(item);
        }
        Ok(items)
    }

    /// The stored objects that the input updates, and whether all stored policies can be read. The other stored
    /// objects describe the cluster, and policies among them are put in force.
    fn stored<'o>(
        &mut self,
        sources: &SourceArgs,
        old: &'o [InputFile<'_>],
        items: &[ReviewedObject<'_>],
    ) -> anyhow::Result<(UpdatedObjects<'o>, bool)> {
        let mut stored: UpdatedObjects<'_> = items.iter().map(|i| (placed(&i.key, &sources.namespace), None)).collect();
        stored.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        stored.dedup_by(|(a, _), (b, _)| a == b);
        let mut complete = true;
        let mut known_policies: BTreeSet<Text> = self.policies.iter().map(|policy| policy.meta.name.clone()).collect();
        for InputFile { name, documents, .. } in old {
            let mut rest = Vec::new();
            for document in documents {
                let key = object_key(&document.raw);
                offline_review::note_namespace(&document.raw, &key, &mut self.namespaces);
                if is_policy(&key, &document.raw) && !known_policies.contains(&key.name) {
                    complete &= self.add_policy(FileObject::of(name, document, &key));
                    known_policies.extend(self.policies.last().map(|policy| policy.meta.name.clone()));
                }
                let key = placed(&key, &sources.namespace);
                match stored.binary_search_by(|(known, _)| known.cmp(&key)) {
                    Ok(place) => stored[place].1 = Some(document.raw.as_ref()),
                    Err(_) => rest.push(document.clone()),
                }
            }
            let warn = |_, one: &Inventory| {
                for problem in one.problems.iter().filter(|p| p.severity == Severity::Error) {
                    messages::warning(&problem.message);
                }
            };
            let source = sources.source(name);
            decode::objects(&rest, &source, &mut self.inventory, warn)?;
            // They are in no unit. Nothing is missing that one of them is.
            for document in &rest {
                decode::record_unread(&document.raw, &source, &mut self.inventory);
            }
        }
        Ok((stored, complete))
    }
}

/// The findings about one object, and the number of those that are not recorded.
fn all_findings(problems: &Findings) -> Vec<Finding> {
    let mut all = problems.as_slice().to_vec();
    let more = usize::try_from(problems.more()).unwrap_or(usize::MAX);
    if let Some(last) = all.last().filter(|_| more > 0) {
        let message = format!("and {} about the object", counted(more, "more finding"));
        all.push(Finding { pointer: None, message, ..last.clone() });
    }
    all
}

fn is_policy(key: &ObjectKey, raw: &RawValue) -> bool {
    let group = || JsonMembers::read(raw).is_ok_and(|o| o.text("apiVersion").starts_with(POLICY_GROUP));
    key.kind == POLICY_KIND && group()
}
