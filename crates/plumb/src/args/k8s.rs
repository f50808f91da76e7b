//! Arguments of `plumb k8s`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum K8sCommand {
    /// Print the objects of a measurement: jobs, and agents for several hosts; or write a Helm chart.
    ///
    /// Nothing is asked of a cluster: `plumb k8s render … | kubectl apply -f -`. Two storage classes are compared in one pod.
    Render(RenderArguments),
}

/// Arguments of `plumb k8s render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    /// An image with the static `plumb`, such as that of `cargo xtask dist` in your registry.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// Prefix of the names of all objects.
    #[arg(long, value_name = "NAME", default_value = "plumb")]
    pub name: String,
    /// Namespace [default: that of kubectl].
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Storage class to measure [default: that of the cluster]; two of them, such as `fast,slow`, are compared.
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',')]
    pub storage_class: Vec<String>,
    /// Size of each volume, as Kubernetes writes it. The test data must fit.
    #[arg(long, value_name = "SIZE", default_value = "20Gi")]
    pub size: String,
    /// Pods that measure together, each on a node and with a volume of its own.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub hosts: u32,
    /// Let all of them mount one volume (ReadWriteMany).
    #[arg(long)]
    pub shared: bool,
    /// Workload to run, as `plumb workloads` names it.
    #[arg(long = "for", value_name = "WORKLOAD", default_value = "random-read")]
    pub workload: String,
    /// A key of the workload, as in `plumb run --set`; may be given several times. A comparison has size, time, budget, blocks
    /// and settle.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Push the result to the database of a team instead of printing it.
    #[arg(long, value_name = "URL")]
    pub push_to: Option<String>,
    /// Secret whose key `password` is the password of that database.
    #[arg(long, value_name = "NAME", default_value = "plumb-database")]
    pub push_secret: String,
    /// Write a Helm chart with these values into a directory instead.
    #[arg(long, value_name = "DIR")]
    pub chart: Option<PathBuf>,
}
