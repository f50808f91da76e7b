//! Arguments of `plumb export`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_long_help = FORMATS)]
pub(crate) struct ExportArguments {
    /// Runs: ids, unique prefixes of ids, `last`, or `last~1` for the one before it [default: all finished runs].
    pub runs: Vec<String>,
    /// Export the runs of this study, by its id, name or file.
    #[arg(long, value_name = "STUDY", conflicts_with = "runs")]
    pub study: Option<String>,
    /// Export the finished runs with this tag.
    #[arg(long, value_name = "TAG", conflicts_with_all = ["runs", "study"])]
    pub tag: Option<String>,
    #[command(flatten)]
    pub form: ExportForm,
    /// With --parquet DIR: the name of the site in the layout [default: the host of each run].
    #[arg(long, value_name = "NAME")]
    pub site: Option<String>,
    /// Replace the names of hosts, users, paths, serials, addresses and UUIDs; standard error says how many.
    #[arg(long)]
    pub anonymise: bool,
}

/// The form of the output; JSON without any of these.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct ExportForm {
    /// Write CSV, one line per number; runs of studies with their plot and a column for each factor.
    #[arg(long)]
    pub csv: bool,
    /// Write the same numbers as JSON Lines, one object per number; what is missing is left out.
    #[arg(long)]
    pub ndjson: bool,
    /// Write one row per number as Apache Parquet: to one file if the name ends in `.parquet`, else to a directory.
    #[arg(long, value_name = "DIR|FILE")]
    pub parquet: Option<PathBuf>,
    /// Write one document per number for OpenSearch's bulk API; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub opensearch: Option<PathBuf>,
    /// Print the index template for these documents, and export nothing.
    #[arg(long, conflicts_with_all = ["runs", "study", "tag"])]
    pub opensearch_template: bool,
    /// Print the numbers in Bencher Metric Format; runs that repeat a benchmark become a mean with bounds.
    #[arg(long)]
    pub bmf: bool,
    /// Print one document per run for Horreum, one per line.
    #[arg(long)]
    pub horreum: bool,
    /// Write the named runs, with their histograms and series, to one file signed by your key (`plumb key`).
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
    /// Print the labels that Horreum extracts from these documents, and export nothing.
    #[arg(long, conflicts_with_all = ["runs", "study", "tag"])]
    pub horreum_labels: bool,
}

const FORMATS: &str = "\
docs/export.md has the fields of each format, and how the other program loads it.

A Parquet directory has the layout site=NAME/month=YYYY-MM/HASH.parquet. Runs that are already in it are not written again, so \
that the same command can run every night. Its files are never changed.";
