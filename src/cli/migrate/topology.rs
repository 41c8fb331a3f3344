//! `roster migrate topology`: topology keys become traffic policies, `trafficDistribution` and zones of nodes.

use std::{collections::BTreeMap, io::Write};

use clap::Args;
use roster_engine::{
    migration::{Equivalence, KeySource, ServiceMigration, TopologyMigration, ZoneLabels},
    model::{EndpointSlice, Nodes, Service, Text, names},
    phrase::counted,
    plan::plan,
    state::{Controller, Options, State},
    view::{KeyOrder, Scheme, ViewChanges, ViewedCluster, ViewedService, YURT_TOPOLOGY, planned_slices},
};
use roster_manifests::inventory::{Findings, Index, Inventory, ViewInput, whole};
use serde::Serialize;

use super::patches::ObjectPatch;
use crate::cli::{
    column_layout::wrap,
    findings_report::FindingsReport,
    help_end::help_end,
    input_objects::{InputArgs, InputObjects, ReleaseArgs},
    outcome::Outcome,
    output::{ItemWriter, Output, OutputFormat, command_formats},
    printable::printable,
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, Table},
    view::node_changes,
};

/// What a reader must know first.
const FENCE: &str = "topologyKeys is a fence: traffic never leaves it. trafficDistribution is a preference: if the zone \
                     has no ready endpoint, or one ready endpoint has no zone, traffic goes everywhere. Only \
                     internalTrafficPolicy: Local is a fence, around one node.";
/// Why there is no patch for an object. Its name could be a flag of kubectl.
const NO_SUCH_NAME: &str = "no patch, because no API server stores an object of this name";
/// Most Nodes whose patches are listed in a table.
const NODES: usize = 8;

/// Replace topologyKeys by traffic policies, trafficDistribution and zones.
///
/// Reads Services with topology keys: the field spec.topologyKeys (Kubernetes 1.17 to 1.21), the annotation
/// topologyKeys (SuperEdge), the annotation openyurt.io/topologyKeys (OpenYurt). Prints the new setting of each
/// Service, the zones for nodes, and the traffic of all nodes before and after. It changes nothing: -o kubectl prints
/// the commands.
///
/// topologyKeys is a fence, and trafficDistribution a preference. The answer names every Service with a difference.
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 no Service has topology keys, 1 there is something to migrate, 2 usage error or unreadable input.",
    "roster migrate topology -f cluster.yaml",
    "roster migrate topology --context edge -A -o kubectl > migrate.sh",
)
)]
pub(super) struct TopologyArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    /// The label of nodes that becomes their zone [default: the one that most Services have among their keys]
    #[arg(long, value_name = "LABEL")]
    zone_key: Option<Text>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: MigrationFormat,
}

command_formats! {
    /// Output format of a migration.
    MigrationFormat {
        /// For people: what becomes of each Service, and where traffic goes before and after.
        Table => Table,
        /// The same with all details.
        Wide => Wide,
        /// The patches in one JSON document.
        Json => Json,
        /// The patches in one YAML document.
        Yaml => Yaml,
        /// The commands of kubectl that apply the patches.
        Kubectl => Table,
    }
}

impl TopologyArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        let objects = self.input.read_with_pools(plugin, has_keys_of_openyurt)?;
        let mut index = objects.index();
        objects.choice.apply(&mut index)?;
        let options = Options { compat: self.release.choose(&objects), ..Options::default() };
        let input = ViewInput::new(&objects.inventory, &index, &options, None);
        let services = index.entries().iter().filter_map(|entry| entry.service);
        let migration = TopologyMigration::of(services, self.zone_key.clone(), options.compat);
        let zones = ZoneLabels::of(&input.nodes, migration.zone_key.as_ref().filter(|key| *key != names::ZONE));
        let run = MigrationRun { objects: &objects, index: &index, input: &input, migration, zones, options };
        let mut out = Output::stdout(self.output.document());
        match self.output {
            MigrationFormat::Kubectl => run.commands(&mut out)?,
            MigrationFormat::Table | MigrationFormat::Wide => {
                run.table(self.output == MigrationFormat::Wide, &mut out)?;
            }
            MigrationFormat::Json | MigrationFormat::Yaml => run.documents(self.output.document(), &mut out)?,
        }
        out.flush()?;
        let has_keys = !run.migration.services.is_empty() || !run.migration.malformed.is_empty();
        Ok(Outcome::of(objects.complete, has_keys))
    }
}

/// One run.
struct MigrationRun<'a> {
    objects: &'a InputObjects,
    index: &'a Index<'a>,
    input: &'a ViewInput<'a>,
    migration: TopologyMigration<'a>,
    zones: ZoneLabels<'a>,
    options: Options,
}

/// A Service as it is afterwards.
struct MigratedService {
    service: Service,
    slices: Vec<EndpointSlice>,
}

/// The totals of the document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MigrationSummary<'a> {
    warning: &'static str,
    services: BTreeMap<&'static str, usize>,
    zone_key: Option<&'a Text>,
    malformed: Vec<String>,
    /// Nodes that have another zone, which stays.
    zone_conflicts: Vec<&'a Text>,
    /// Objects that get no patch, because no API server stores an object of their name.
    impossible_names: Vec<String>,
}

/// The patches of a migration.
struct Patches {
    named: Vec<ObjectPatch>,
    /// Those of objects whose names no API server stores.
    unnamable: Vec<ObjectPatch>,
}

impl MigrationRun<'_> {
    /// All patches: nodes first, because hints need their zones.
    fn patches(&self) -> Patches {
        let of_nodes = self.zones.patches.iter().map(|zone| ObjectPatch {
            kind: "Node",
            namespace: None,
            name: zone.node.name.clone(),
            patch: zone.patch(),
            notes: Vec::new(),
        });
        let of_services = self.migration.services.iter().map(|migration| ObjectPatch {
            kind: "Service",
            namespace: Some(migration.service.meta.namespace.clone()),
            name: migration.service.meta.name.clone(),
            patch: migration.patch(),
            notes: migration.notes(),
        });
        let is_change = |patch: &ObjectPatch| patch.patch.as_object().is_some_and(|fields| !fields.is_empty());
        let (named, unnamable) =
            of_nodes.chain(of_services).filter(is_change).partition(ObjectPatch::has_possible_names);
        Patches { named, unnamable }
    }

    fn commands(&self, out: &mut Output) -> anyhow::Result<()> {
        writeln!(out, "# {FENCE}")?;
        let Patches { named, unnamable } = self.patches();
        for patch in unnamable {
            writeln!(out, "# {}: {NO_SUCH_NAME}", printable(&patch.object()))?;
        }
        for patch in named {
            for note in &patch.notes {
                writeln!(out, "# {}: {}", printable(&patch.object()), printable(note))?;
            }
            writeln!(out, "{}", printable(&patch.command()))?;
        }
        Ok(())
    }

    fn documents(&self, format: OutputFormat, out: &mut Output) -> anyhow::Result<()> {
        let mut items = ItemWriter::start(out, format)?;
        let Patches { named, unnamable } = self.patches();
        for patch in named {
            items.write(&ItemWriter::item(format, &patch)?)?;
        }
        let mut services = BTreeMap::new();
        for migration in &self.migration.services {
            *services.entry(migration.equivalence.as_str()).or_default() += 1;
        }
        let summary = MigrationSummary {
            warning: FENCE,
            services,
            zone_key: self.migration.zone_key.as_ref(),
            malformed: self.migration.malformed.iter().map(|service| service.key().to_string()).collect(),
            zone_conflicts: self.zones.conflicts.iter().map(|zone| &zone.node.name).collect(),
            impossible_names: unnamable.iter().map(ObjectPatch::object).collect(),
        };
        items.end(&whole::last_line(&summary, &self.findings()))
    }

    fn table(&self, wide: bool, out: &mut Output) -> anyhow::Result<()> {
        let services = &self.migration.services;
        if services.is_empty() && self.migration.malformed.is_empty() {
            writeln!(out, "no Service has topology keys\n")?;
            return Ok(FindingsReport::of_input(&self.findings(), wide).print(out)?);
        }
        for line in wrap(FENCE, out.width().unwrap_or(usize::MAX)) {
            writeln!(out, "{BOLD}{RED}{line}{RED:#}{BOLD:#}")?;
        }
        writeln!(out)?;
        let mut sorted: Vec<&ServiceMigration<'_>> = services.iter().collect();
        sorted.sort_by_key(|migration| migration.equivalence);
        let mut table = Table::new(["SERVICE", "KEYS", "OF", "BECOMES", "EQUIVALENT"]);
        for migration in sorted {
            table.push(cells(migration));
        }
        if !table.is_empty() {
            table.print(out, 0)?;
            writeln!(out)?;
        }
        for service in &self.migration.malformed {
            writeln!(out, "{}: the annotation topologyKeys is not a JSON list; left as it is", service.key())?;
        }
        for patch in self.patches().unnamable {
            writeln!(out, "{RED}{}: {NO_SUCH_NAME}{RED:#}", printable(&patch.object()))?;
        }
        self.nodes_table(wide, out)?;
        self.changes(wide, out)?;
        FindingsReport::of_input(&self.findings(), wide).shortened().print(out)?;
        Ok(writeln!(out, "{DIM}Nothing is changed. For the patches, add -o yaml; for commands, -o kubectl{DIM:#}")?)
    }

    /// The zones that nodes get.
    fn nodes_table(&self, wide: bool, out: &mut Output) -> anyhow::Result<()> {
        let ZoneLabels { patches, conflicts, without } = &self.zones;
        if let Some(key) = self.migration.zone_key.as_ref().filter(|_| !patches.is_empty()) {
            writeln!(
                out,
                "{BOLD}{} get the label {} with the value of {}{BOLD:#}",
                counted(patches.len(), "node"),
                names::ZONE,
                printable(key)
            )?;
            let listed = if wide { patches.len() } else { NODES };
            let mut table = Table::new(["NODE", "ZONE"]);
            patches
                .iter()
                .take(listed)
                .for_each(|zone| table.push([zone.node.name.as_str().into(), zone.zone.as_str().into()]));
            table.print(out, 2)?;
            if patches.len() > listed {
                writeln!(out, "  {DIM}and {} more: -o wide lists them{DIM:#}", patches.len() - listed)?;
            }
            writeln!(out)?;
        }
        if let Some(first) = conflicts.first() {
            writeln!(
                out,
                "{YELLOW}{} have another zone already, which stays; the first is {}{YELLOW:#}\n",
                counted(conflicts.len(), "node"),
                printable(&first.node.name)
            )?;
        }
        if let Some(first) = without.first().filter(|_| self.migration.services.iter().any(needs_zones)) {
            writeln!(
                out,
                "{YELLOW}{} have no zone; while one has a ready endpoint of a Service, nobody follows its hints; the first is \
                 {}{YELLOW:#}\n",
                counted(without.len(), "node"),
                printable(&first.name)
            )?;
        }
        Ok(())
    }

    /// Where traffic goes before and after, for all nodes.
    fn changes(&self, wide: bool, out: &mut Output) -> anyhow::Result<()> {
        let nodes = self.zones.patched(&self.input.nodes);
        for source in KeySource::ALL {
            let of_source: Vec<&ServiceMigration<'_>> =
                self.migration.services.iter().filter(|migration| migration.keys.source == source).collect();
            let after: Vec<Option<MigratedService>> = of_source.iter().map(|m| self.migrated(m, &nodes)).collect();
            let unknown = after.iter().filter(|after| after.is_none()).count();
            if unknown > 0 {
                writeln!(
                    out,
                    "{YELLOW}{}: without Pods in the input, it is not known where traffic would go{YELLOW:#}\n",
                    counted(unknown, "Service")
                )?;
            }
            let known = of_source.iter().zip(&after).filter(|(_, after)| after.is_some());
            if known.clone().count() == 0 {
                continue;
            }
            let all = self.input.cluster(self.scheme(source), None);
            let chosen =
                |m: &ServiceMigration<'_>| all.service(&m.service.meta.namespace, &m.service.meta.name).cloned();
            let old = known.clone().filter_map(|(migration, _)| chosen(migration)).collect();
            let new = known.filter_map(|(_, after)| after.as_ref()).map(MigratedService::viewed).collect();
            let before = ViewedCluster { services: old, ..all.clone() };
            let after = ViewedCluster { scheme: Scheme::KubeProxy, family: None, nodes: &nodes, services: new };
            writeln!(out, "{BOLD}{} before, kube-proxy with hints after{BOLD:#}", source.as_str())?;
            node_changes::table(&ViewChanges::between(&before, &after)?, wide, out)?;
        }
        Ok(())
    }

    fn scheme(&self, source: KeySource) -> Scheme<'_> {
        match source {
            KeySource::Field => Scheme::TopologyKeysField,
            KeySource::SuperEdge => {
                Scheme::SuperEdge { substitutes_api_server: false, health: None, order: KeyOrder::AnyKey }
            }
            KeySource::OpenYurt => Scheme::OpenYurt { pools: &self.objects.inventory.node_pools, pool_topology: true },
        }
    }

    /// A Service with its patch, and the slices that the controller would then write; `None` if its pods are not known.
    fn migrated(&self, migration: &ServiceMigration<'_>, nodes: &Nodes) -> Option<MigratedService> {
        let meta = &migration.service.meta;
        let service = migration.patched();
        let entry = self.index.get(&meta.namespace, &meta.name)?;
        let state = self.index.state(entry);
        if service.selector.is_none() {
            // Who writes these slices decides about hints.
            return Some(MigratedService { service, slices: state.slices.iter().copied().cloned().collect() });
        }
        let is_unknown = self.index.unknown_of(entry).hides_pods_of(&state);
        if is_unknown || !self.input.knows_endpoints_of(&meta.namespace, &meta.name) {
            return None;
        }
        let state = State { service: Some(&service), nodes, ..state };
        let slices = planned_slices(&state, &plan(&state, &[Controller::EndpointSlices], &self.options));
        Some(MigratedService { service: service.clone(), slices })
    }

    fn findings(&self) -> Findings {
        self.input.findings()
    }
}

impl MigratedService {
    fn viewed(&self) -> ViewedService<'_> {
        ViewedService { service: &self.service, slices: self.slices.iter().collect() }
    }
}

/// Whether traffic follows zones afterwards.
fn needs_zones(migration: &ServiceMigration<'_>) -> bool {
    matches!(migration.equivalence, Equivalence::FenceLost | Equivalence::Preference)
}

fn cells(migration: &ServiceMigration<'_>) -> [Cell; 5] {
    let meta = &migration.service.meta;
    let style = match migration.equivalence {
        Equivalence::None | Equivalence::FenceLost => YELLOW,
        Equivalence::Preference | Equivalence::Strict | Equivalence::NotProxied => GREEN,
    };
    let keys: Vec<&str> = migration.keys.keys.iter().map(Text::as_str).collect();
    let meaning = [vec![migration.equivalence.meaning().to_owned()], migration.notes()].concat().join("; ");
    [
        format!("{}/{}", meta.namespace, meta.name).into(),
        keys.join(", ").into(),
        migration.keys.source.as_str().into(),
        migration.target.as_str().into(),
        Cell::styled(meaning, style),
    ]
}

/// Whether a Service has topology keys of OpenYurt, which may name pools of nodes.
fn has_keys_of_openyurt(inventory: &Inventory) -> bool {
    inventory.services.iter().any(|service| service.meta.annotations.contains_key(YURT_TOPOLOGY))
}
