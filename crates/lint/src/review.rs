//! From files to objects with the answers and findings for each.

use std::collections::BTreeSet;

use roster_admission::{
    offline_review::{self, Namespaces, Reviewer},
    policy::{self, EndpointPolicy, Policies},
};
use roster_engine::{
    model::{
        ObjectKey, Text,
        installed::{POLICY_GROUP, POLICY_KIND},
        json::raw::JsonMembers,
    },
    phrase::counted,
    reason::{Finding, Severity},
};
use roster_manifests::{
    decode::{self, DecodeError},
    inventory::{Answers, Findings, Inventory, Snapshot, is_given_by_kustomize, workloads::ObjectDocuments},
};
use serde_json::value::RawValue;

use crate::{
    cluster_findings::{self, ComparedInput},
    file_finding::{FileFinding, FileObject},
    finding_room::FindingRoom,
    input_file::{InputFile, Manifests},
    options::LintOptions,
    report::{Note, Report},
    reviewed_object::ReviewedObject,
};

/// What the objects are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Objects that are written now.
    Review,
    /// Manifests that nobody writes yet. An object that comes from a cluster is stored there as it is: nothing refuses it any
    /// more.
    Manifests,
}

/// What the webhook would answer for objects.
///
/// # Errors
///
/// A limit of `options.source`, or its interrupt.
pub fn review<'a>(manifests: Manifests<'a>, options: &LintOptions<'_>) -> Result<Report<'a>, DecodeError> {
    read(manifests, options, Purpose::Review)
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
    notes: Vec<Note>,
}

/// Decodes all objects, and reviews those of the kinds that have rules.
pub(crate) fn read<'a>(
    manifests: Manifests<'a>,
    options: &LintOptions<'_>,
    purpose: Purpose,
) -> Result<Report<'a>, DecodeError> {
    let Manifests { files, units, unread, mut complete } = manifests;
    let mut context = ReviewContext { room: FindingRoom::new(options.max_findings), ..ReviewContext::default() };
    context.inventory.unread.merge(unread);
    complete &= context.read_policies(options.policies);
    let mut items = Vec::new();
    for file in files {
        items.append(&mut context.objects_of(options, file)?);
    }
    let (stored, complete_stored) = context.stored(options, &items)?;
    complete &= complete_stored;
    options.source.check_policies(context.policies.len())?;
    let (policies, findings) = Policies::new(std::mem::take(&mut context.policies));
    context.notes.extend(findings.iter().map(|f| Note::warning(format!("{}: {}", f.object, f.message))));
    let snapshot = Snapshot::of_part(&context.inventory);
    let cluster = Answers(&snapshot);
    let reviewer = Reviewer {
        policies: &policies,
        cluster: &cluster,
        namespaces: &context.namespaces,
        user: options.user,
        groups: options.groups,
        namespace: options.namespace,
    };
    let mut room = FindingRoom::new(options.max_findings);
    for item in &mut items {
        options.source.check_interrupt()?;
        if item.readable {
            let key = item.key.clone().placed(options.namespace);
            let old = stored.binary_search_by(|(known, _)| known.cmp(&key)).ok().and_then(|place| stored[place].1);
            let before = item.count();
            item.review(&reviewer, old, purpose);
            item.keep_within(&mut room, before);
        } else {
            item.refuse_unreadable();
        }
    }
    let ReviewContext { inventory, documents, .. } = &context;
    options.source.check_interrupt()?;
    cluster_findings::add(&mut items, options, &ComparedInput { inventory, documents, units: &units })?;
    let mut notes = context.notes;
    if let Some(name) = policies.first_with_namespace_labels()
        && context.namespaces.is_empty()
        && items.iter().any(|i| i.answer.is_some())
    {
        notes.push(Note::warning(format!(
            "{POLICY_KIND} {name} selects namespaces by label, and the input has no Namespace: the policy applies to no object"
        )));
    }
    Ok(Report { objects: items, notes, complete, max_findings: options.max_findings })
}

/// The keys of the input in order, each with the stored object that it updates, if there is one.
type UpdatedObjects<'o> = Vec<(ObjectKey, Option<&'o RawValue>)>;

impl ReviewContext {
    /// Reads files of policies. Returns whether all of them can be read.
    fn read_policies(&mut self, files: &[InputFile<'_>]) -> bool {
        let mut complete = true;
        for InputFile { name, documents, .. } in files {
            for document in documents {
                complete &= self.add_policy(FileObject::of(name, document, &document.identity().key));
            }
        }
        complete
    }

    /// Puts a policy in force. Returns whether it can be read.
    fn add_policy(&mut self, at: FileObject<'_, '_>) -> bool {
        let (policy, problems) = policy::read(&at.document.raw);
        self.notes.extend(FileFinding::of_input(at, &problems).iter().map(FileFinding::note));
        let readable = policy.is_some();
        self.policies.extend(policy);
        readable
    }

    /// The objects of a file. Policies among them are put in force; Namespaces and decoded kinds describe the cluster.
    fn objects_of<'a>(
        &mut self,
        options: &LintOptions<'_>,
        file: InputFile<'a>,
    ) -> Result<Vec<ReviewedObject<'a>>, DecodeError> {
        let InputFile { name, documents, is_listed, is_test, .. } = file;
        let mut findings_of = vec![Vec::new(); documents.len()];
        let (start, numbers) = (self.count, &mut self.documents);
        decode::objects(&documents, &options.source_of(name), &mut self.inventory, |i, one| {
            findings_of[i] = all_findings(&one.problems);
            numbers.add(start + i, one);
        })?;
        self.count += documents.len();
        let mut items = Vec::with_capacity(documents.len());
        for (document, mut problems) in documents.into_iter().zip(findings_of) {
            let key = document.identity().key.clone();
            let at = FileObject::of(name, &document, &key);
            if is_policy(&key, &document.raw) {
                let (policy, mut more) = policy::read(&document.raw);
                problems.append(&mut more);
                self.policies.extend(policy);
            }
            offline_review::note_namespace(&document.raw, &key, &mut self.namespaces);
            let is_given = |p: &Finding| is_listed && is_given_by_kustomize(p.code);
            let problems = problems.iter().filter(|p| !offline_review::is_filled_in(p, &key) && !is_given(p));
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
                is_test,
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
        options: &LintOptions<'o>,
        items: &[ReviewedObject<'_>],
    ) -> Result<(UpdatedObjects<'o>, bool), DecodeError> {
        let mut stored: UpdatedObjects<'_> =
            items.iter().map(|i| (i.key.clone().placed(options.namespace), None)).collect();
        stored.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        stored.dedup_by(|(a, _), (b, _)| a == b);
        let mut complete = true;
        let mut known_policies: BTreeSet<Text> = self.policies.iter().map(|policy| policy.meta.name.clone()).collect();
        for InputFile { name, documents, .. } in options.stored {
            let mut rest = Vec::new();
            for document in documents {
                let key = &document.identity().key;
                offline_review::note_namespace(&document.raw, key, &mut self.namespaces);
                if is_policy(key, &document.raw) && !known_policies.contains(&key.name) {
                    complete &= self.add_policy(FileObject::of(name, document, key));
                    known_policies.extend(self.policies.last().map(|policy| policy.meta.name.clone()));
                }
                let key = key.clone().placed(options.namespace);
                match stored.binary_search_by(|(known, _)| known.cmp(&key)) {
                    Ok(place) => stored[place].1 = Some(document.raw.as_ref()),
                    Err(_) => rest.push(document.clone()),
                }
            }
            let notes = &mut self.notes;
            let warn = |_, one: &Inventory| {
                let errors = one.problems.iter().filter(|p| p.severity == Severity::Error);
                notes.extend(errors.map(|problem| Note::warning(problem.message.clone())));
            };
            let source = options.source_of(name);
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

/// Whether an object is an `EndpointPolicy`.
pub fn is_policy(key: &ObjectKey, raw: &RawValue) -> bool {
    let group = || JsonMembers::read(raw).is_ok_and(|o| o.text("apiVersion").starts_with(POLICY_GROUP));
    key.kind == POLICY_KIND && group()
}
