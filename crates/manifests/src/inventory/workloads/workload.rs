//! Workloads: what controllers make pods from.

use roster_engine::model::{LabelSelector, Labels, ObjectKey, OwnerReference, Resource, Text, wire::nullable};
use serde::{Deserialize, Deserializer};

use super::{rollout::RolloutStrategy, template::PodTemplate};

/// A workload: the fields that decide which pods its controller makes.
#[derive(Clone, Debug)]
pub struct Workload {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.uid`; empty if the workload was never in a cluster.
    pub uid: Text,
    /// `metadata.labels`, which its pods do not get.
    pub labels: Labels,
    /// The owner that is its controller, such as the Deployment of a ReplicaSet.
    pub owner: Option<OwnerReference>,
    /// How its controller makes pods.
    pub controller: WorkloadController,
    /// `spec.selector`; `None` if it is missing.
    pub selector: Option<LabelSelector>,
    /// The template of its pods.
    pub template: PodTemplate,
    /// Whether it is a manifest of a hook of Helm, such as a migration: most of the time it does not exist.
    pub is_hook: bool,
}

/// How a controller makes pods, with the fields that only its kind has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub enum WorkloadController {
    Deployment {
        replicas: Option<i32>,
        paused: bool,
        strategy: RolloutStrategy,
    },
    ReplicaSet {
        replicas: Option<i32>,
    },
    ReplicationController {
        replicas: Option<i32>,
    },
    StatefulSet {
        replicas: Option<i32>,
        service_name: Text,
        first_ordinal: i32,
        /// Whether all pods are made at once: `podManagementPolicy: Parallel`.
        parallel: bool,
    },
    DaemonSet,
    Job(JobSpec),
    /// A CronJob, which makes a Job when it is due.
    CronJob {
        suspended: bool,
        job: JobSpec,
    },
    /// A custom resource with a pod template.
    Custom {
        replicas: Option<i32>,
    },
}

/// The fields of a Job that decide about its pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are Kubernetes' own")]
pub struct JobSpec {
    /// `parallelism`: most pods at a time.
    pub parallelism: Option<i32>,
    /// `completions`: how many pods must end well.
    pub completions: Option<i32>,
    /// Whether `completionMode` is `Indexed`.
    pub indexed: bool,
    /// Whether failures are counted for each index.
    pub limits_each_index: bool,
    /// `suspend`.
    pub suspended: bool,
    /// `managedBy`: the controller that makes its pods, if it is not Kubernetes' own.
    pub managed_by: Text,
    /// `manualSelector`: the API server adds no labels.
    pub manual_selector: bool,
}

impl Workload {
    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.kind, &self.namespace, &self.name)
    }

    /// The resource of a kind of workload that Roster knows; `None` for custom resources.
    pub fn resource(&self) -> Option<Resource> {
        Some(match self.controller {
            WorkloadController::Deployment { .. } => Resource::Deployment,
            WorkloadController::ReplicaSet { .. } => Resource::ReplicaSet,
            WorkloadController::ReplicationController { .. } => Resource::ReplicationController,
            WorkloadController::StatefulSet { .. } => Resource::StatefulSet,
            WorkloadController::DaemonSet => Resource::DaemonSet,
            WorkloadController::Job(_) => Resource::Job,
            WorkloadController::CronJob { .. } => Resource::CronJob,
            WorkloadController::Custom { .. } => return None,
        })
    }

    /// `spec.replicas`, of kinds that can be scaled.
    pub fn replicas(&self) -> Option<Option<i32>> {
        match self.controller {
            WorkloadController::Deployment { replicas, .. }
            | WorkloadController::ReplicaSet { replicas }
            | WorkloadController::ReplicationController { replicas }
            | WorkloadController::StatefulSet { replicas, .. }
            | WorkloadController::Custom { replicas } => Some(replicas),
            WorkloadController::DaemonSet | WorkloadController::Job(_) | WorkloadController::CronJob { .. } => None,
        }
    }

    /// The JSON pointer to its template.
    pub(super) fn template_pointer(&self) -> &'static str {
        match self.controller {
            WorkloadController::CronJob { .. } => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        }
    }

    /// Whether its controller makes a pod only when those before it are ready (upstream's `monotonic`).
    pub(super) fn is_ordered(&self) -> bool {
        matches!(self.controller, WorkloadController::StatefulSet { parallel: false, .. })
    }

    /// Whether it is a Job, or makes Jobs: its pods end.
    pub(super) fn is_job(&self) -> bool {
        matches!(self.controller, WorkloadController::Job(_) | WorkloadController::CronJob { .. })
    }

    /// Whether `owner` refers to it.
    pub fn is_owner(&self, owner: &OwnerReference) -> bool {
        self.kind == owner.kind
            && self.name == owner.name
            && api_group(&self.api_version) == api_group(&owner.api_version)
    }

    /// Reads a workload of a resource that Roster knows.
    pub fn read<'de, D: Deserializer<'de>>(resource: Resource, d: D) -> Result<Self, D::Error> {
        match resource {
            Resource::Job => RawWorkload::deserialize(d).map(|raw| raw.workload(resource, RawJobSpec::parts)),
            Resource::CronJob => RawWorkload::deserialize(d).map(|raw| raw.workload(resource, RawCronJobSpec::parts)),
            Resource::ReplicationController => RawWorkload::<RawReplicaSpec<Labels>>::deserialize(d)
                .map(|raw| raw.workload(resource, |spec| spec.parts(resource, LabelSelector::of))),
            _ => RawWorkload::<RawReplicaSpec<LabelSelector>>::deserialize(d)
                .map(|raw| raw.workload(resource, |spec| spec.parts(resource, |selector| selector))),
        }
    }

    /// Sets its type, for one from a list, which says it once for all.
    pub fn set_type(&mut self, api_version: &Text, kind: &Text) {
        self.api_version.clone_from(api_version);
        self.kind.clone_from(kind);
    }

    /// Reads a custom resource without its type, which has a pod template where a Deployment has it. Nothing is known of its other fields.
    pub fn read_custom<'de, D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let CustomWorkload { metadata, spec } = CustomWorkload::deserialize(d)?;
        let controller = WorkloadController::Custom { replicas: spec.replicas };
        Ok(metadata.workload(Text::default(), Text::default(), controller, None, spec.template))
    }
}

/// The API group of an `apiVersion`.
pub(super) fn api_group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[derive(Deserialize, Default)]
#[serde(default, bound = "S: Deserialize<'de> + Default")]
struct RawWorkload<S> {
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    spec: S,
}

/// What a `spec` is made into.
type SpecParts = (WorkloadController, Option<LabelSelector>, PodTemplate);

impl<S> RawWorkload<S> {
    fn workload(self, resource: Resource, parts: impl FnOnce(S) -> SpecParts) -> Workload {
        let (controller, selector, template) = parts(self.spec);
        self.metadata.workload(resource.api_version().into(), resource.kind().into(), controller, selector, template)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CustomWorkload {
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    spec: CustomSpec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CustomSpec {
    replicas: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    template: PodTemplate,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawMeta {
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    uid: Text,
    #[serde(deserialize_with = "nullable")]
    labels: Labels,
    #[serde(deserialize_with = "nullable")]
    owner_references: Vec<OwnerReference>,
}

impl RawMeta {
    fn workload(
        self,
        api_version: Text,
        kind: Text,
        controller: WorkloadController,
        selector: Option<LabelSelector>,
        template: PodTemplate,
    ) -> Workload {
        let Self { namespace, name, uid, labels, owner_references } = self;
        let owner = owner_references.into_iter().find(|o| o.controller == Some(true));
        Workload {
            api_version,
            kind,
            namespace,
            name,
            uid,
            labels,
            owner,
            controller,
            selector,
            template,
            is_hook: false,
        }
    }
}

/// `spec` of the kinds that keep a number of pods running, and of a DaemonSet. Only the selector has two types.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, bound = "S: Deserialize<'de> + Default")]
struct RawReplicaSpec<S> {
    replicas: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    paused: bool,
    #[serde(deserialize_with = "nullable")]
    strategy: RolloutStrategy,
    #[serde(deserialize_with = "nullable")]
    service_name: Text,
    #[serde(deserialize_with = "nullable")]
    ordinals: RawOrdinals,
    #[serde(deserialize_with = "nullable")]
    pod_management_policy: Text,
    selector: Option<S>,
    #[serde(deserialize_with = "nullable")]
    template: PodTemplate,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawOrdinals {
    #[serde(deserialize_with = "nullable")]
    start: i32,
}

impl<S> RawReplicaSpec<S> {
    fn parts(self, resource: Resource, selector: impl FnOnce(S) -> LabelSelector) -> SpecParts {
        let Self { replicas, paused, strategy, service_name, ordinals, pod_management_policy, .. } = self;
        let controller = match resource {
            Resource::Deployment => WorkloadController::Deployment { replicas, paused, strategy },
            Resource::StatefulSet => WorkloadController::StatefulSet {
                replicas,
                service_name,
                first_ordinal: ordinals.start,
                parallel: pod_management_policy == "Parallel",
            },
            Resource::DaemonSet => WorkloadController::DaemonSet,
            Resource::ReplicationController => WorkloadController::ReplicationController { replicas },
            _ => WorkloadController::ReplicaSet { replicas },
        };
        (controller, self.selector.map(selector), self.template)
    }
}

/// `spec` of a Job.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawJobSpec {
    #[serde(deserialize_with = "nullable")]
    template: PodTemplate,
    selector: Option<LabelSelector>,
    parallelism: Option<i32>,
    completions: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    completion_mode: Text,
    backoff_limit_per_index: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    suspend: bool,
    #[serde(deserialize_with = "nullable")]
    managed_by: Text,
    #[serde(deserialize_with = "nullable")]
    manual_selector: bool,
}

impl RawJobSpec {
    fn parts(self) -> SpecParts {
        let (job, selector, template) = self.job();
        (WorkloadController::Job(job), selector, template)
    }

    fn job(self) -> (JobSpec, Option<LabelSelector>, PodTemplate) {
        let job = JobSpec {
            parallelism: self.parallelism,
            completions: self.completions,
            indexed: self.completion_mode == "Indexed",
            limits_each_index: self.backoff_limit_per_index.is_some(),
            suspended: self.suspend,
            managed_by: self.managed_by,
            manual_selector: self.manual_selector,
        };
        (job, self.selector, self.template)
    }
}

/// `spec` of a CronJob.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawCronJobSpec {
    #[serde(deserialize_with = "nullable")]
    suspend: bool,
    #[serde(deserialize_with = "nullable")]
    job_template: RawJobTemplate,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawJobTemplate {
    #[serde(deserialize_with = "nullable")]
    spec: RawJobSpec,
}

impl RawCronJobSpec {
    fn parts(self) -> SpecParts {
        let (job, selector, template) = self.job_template.spec.job();
        (WorkloadController::CronJob { suspended: self.suspend, job }, selector, template)
    }
}
