//! The options that a client sends to a service: all of them, under the names of the command line.

use crate::elbencho::settings::{ElbenchoSettings, Rwmix};
use plumb_workload::files::{FileAdvice, MappingAdvice, RecordLock};

/// Name of the uploaded tree file.
pub(super) const TREE_NAME: &str = "treefile.txt";
/// Characters at which a service splits its list of paths.
const PATH_SEPARATORS: [char; 4] = [',', '\n', '\r', '@'];
/// Number of blocks from which a file of a tree is shared, by default.
const SHARED_BLOCKS: u64 = 32;

/// One service among those of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServicePlace {
    /// Index of the service, from 0. It changes when hosts are rotated.
    pub number: u32,
    pub services: u32,
}

/// Error from options that a service would misread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    #[error("`{0}`: a real elbencho service splits paths at commas, `@` and line ends; use a path without them")]
    Path(String),
}

/// Options of object storage, GPUs and network benchmarks, with elbencho's defaults: a service requires them all.
/// Source: requests of a real elbencho 3.1-10.
const UNUSED: &[(&str, &str)] = &[
    ("cufile", "false"),
    ("cufiledriveropen", "false"),
    ("cuhostbufreg", "false"),
    ("gdsbufreg", "false"),
    ("gpuids", ""),
    ("hdfs", "false"),
    ("netbench", "false"),
    ("netbenchservers", ""),
    ("numservers", "0"),
    ("opslog", ""),
    ("opsloglock", "false"),
    ("recvbuf", "0"),
    ("respsize", "1"),
    ("s3aclget", "false"),
    ("s3aclgrantee", ""),
    ("s3aclgrants", ""),
    ("s3aclgtype", ""),
    ("s3aclput", "false"),
    ("s3aclputinl", "false"),
    ("s3aclverify", "false"),
    ("s3baclget", "false"),
    ("s3baclput", "false"),
    ("s3btag", "false"),
    ("s3btagverify", "false"),
    ("s3bversion", "false"),
    ("s3bversionverify", "false"),
    ("s3chksumalgo", ""),
    ("s3credfile", ""),
    ("s3credlist", ""),
    ("s3endpoints", ""),
    ("s3fastget", "false"),
    ("s3ignoreerrors", "false"),
    ("s3key", ""),
    ("s3listobj", "0"),
    ("s3listobjpar", "false"),
    ("s3listverify", "false"),
    ("s3maxconns", "0"),
    ("s3mpucomplphase", "false"),
    ("s3mpusharing", "false"),
    ("s3mpusizevar", "0"),
    ("s3mpusplit", "0"),
    ("s3multidel", "0"),
    ("s3multiignore404", "false"),
    ("s3nocompress", "false"),
    ("s3nompucompl", "false"),
    ("s3objprefix", ""),
    ("s3olockcfg", "false"),
    ("s3olockcfgverify", "false"),
    ("s3otag", "false"),
    ("s3otagverify", "false"),
    ("s3randobj", "false"),
    ("s3region", ""),
    ("s3secret", ""),
    ("s3sessiontoken", ""),
    ("s3sign", "0"),
    ("s3single", "false"),
    ("s3sse", "false"),
    ("s3sseckey", ""),
    ("s3ssekmskey", ""),
    ("s3statdirs", "false"),
    ("s3targetgbps", "100"),
    ("s3virtaddr", "false"),
    ("sendbuf", "0"),
];

/// Names and values of a request.
#[derive(Default)]
struct Request(serde_json::Map<String, serde_json::Value>);

impl Request {
    fn put(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string().into());
    }
}

/// Returns the body of the request that sends the options to one service. The paths must be absolute.
///
/// # Errors
/// A service would split a path.
pub fn options(settings: &ElbenchoSettings, place: ServicePlace) -> Result<String, OptionsError> {
    if let Some(path) = settings.paths.iter().find(|path| path.contains(PATH_SEPARATORS)) {
        return Err(OptionsError::Path(path.clone()));
    }
    let mut request = Request::default();
    UNUSED.iter().for_each(|(name, value)| request.put(name, value));
    add_run(&mut request, settings, place);
    add_data_set(&mut request, settings);
    add_ops(&mut request, settings);
    Ok(serde_json::Value::Object(request.0).to_string())
}

/// Adds the phases and the threads.
fn add_run(request: &mut Request, settings: &ElbenchoSettings, place: ServicePlace) {
    // The only mode here: POSIX.
    request.put("benchmode", 1);
    request.put("label", settings.output.label.as_deref().unwrap_or_default());
    request.put("base10", settings.output.base10);
    request.put("no0usecerr", settings.output.no_zero_warning);
    let phases = settings.phases;
    request.put("mkdirs", phases.mkdirs);
    request.put("write", phases.write);
    request.put("stat", phases.stat);
    request.put("read", phases.read);
    request.put("delfiles", phases.delfiles);
    request.put("deldirs", phases.deldirs);
    request.put("sync", phases.sync);
    request.put("dropcache", phases.dropcache);
    request.put("infloop", settings.schedule.infinite);
    let threads = settings.threads;
    let is_shared = settings.hosts.share_paths;
    request.put("threads", threads);
    request.put("datasetthreads", if is_shared { threads.saturating_mul(place.services) } else { threads });
    let first = if is_shared { threads.saturating_mul(place.number) } else { 0 };
    request.put("rankoffset", settings.placement.rank_offset.saturating_add(first));
}

/// Adds the paths, directories and files.
fn add_data_set(request: &mut Request, settings: &ElbenchoSettings) {
    let separated = settings.paths.iter().map(|path| format!("{path},"));
    request.put("path", separated.collect::<String>());
    request.put("dirs", settings.dataset.dirs);
    request.put("files", settings.dataset.files);
    request.put("size", settings.dataset.size);
    request.put("dirsharing", settings.dataset.dirsharing);
    let tree = settings.tree.clone().unwrap_or_default();
    request.put("treefile", if settings.tree.is_some() { TREE_NAME } else { "" });
    request.put("sharesize", shared_from(settings));
    request.put("treerand", tree.random);
    request.put("treeroundrob", tree.round_robin);
    request.put("treeroundup", tree.round_up);
}

/// Returns the size from which threads share a file of a tree, bytes.
pub fn shared_from(settings: &ElbenchoSettings) -> u64 {
    let given = settings.tree.as_ref().and_then(|tree| tree.share_from);
    given.unwrap_or(settings.ops.block.saturating_mul(SHARED_BLOCKS))
}

/// Adds reads and writes, and the calls on files.
fn add_ops(request: &mut Request, settings: &ElbenchoSettings) {
    let (ops, order, mix, content) = (&settings.ops, &settings.order, &settings.mix, &settings.content);
    let (calls, extra) = (&settings.calls, &settings.hosts.real);
    request.put("block", ops.block);
    request.put("iodepth", ops.iodepth);
    request.put("direct", ops.direct);
    request.put("mmap", ops.mmap);
    request.put("rand", order.rand);
    request.put("randalgo", &extra.rand_algo);
    request.put("randamount", order.rand_amount);
    request.put("norandalign", order.rand_unaligned);
    request.put("strided", order.strided);
    request.put("backward", order.backward);
    let (percent, readers) = match mix.rwmix {
        Rwmix::None => (0, 0),
        Rwmix::Percent(percent) => (percent, 0),
        Rwmix::Threads(readers) => (0, readers.min(settings.threads)),
    };
    request.put("rwmixpct", percent);
    request.put("rwmixthr", readers);
    request.put("rwmixthrpct", mix.balance.unwrap_or(0));
    request.put("limitread", mix.limit_read);
    request.put("limitwrite", mix.limit_write);
    request.put("blockvaralgo", &extra.block_algo);
    // Data that is verified has no variance.
    request.put("blockvarpct", if content.verify > 0 { 0 } else { content.new_percent });
    request.put("verify", content.verify);
    request.put("verifydirect", content.verify_direct);
    request.put("readinline", content.read_inline);
    request.put("statinline", calls.stat_inline);
    request.put("trunc", calls.trunc);
    request.put("trunctosize", calls.trunc_to_size);
    request.put("preallocfile", calls.preallocate);
    request.put("nodelerr", calls.no_delete_errors);
    request.put("fadv", calls.file_advice.iter().fold(0, |all, advice| all | file_advice_bit(*advice)));
    request.put("madv", calls.mapping_advice.iter().fold(0, |all, advice| all | mapping_advice_bit(*advice)));
    request.put(
        "flock",
        match calls.lock {
            None => 0,
            Some(RecordLock::OpRange) => 1,
            Some(RecordLock::WholeFile) => 2,
        },
    );
    request.put("nofdsharing", extra.no_fd_sharing);
    request.put("nodiocheck", extra.no_direct_check);
}

const fn file_advice_bit(advice: FileAdvice) -> u32 {
    match advice {
        FileAdvice::Sequential => 1,
        FileAdvice::Random => 2,
        FileAdvice::WillNeed => 4,
        FileAdvice::DontNeed => 8,
        FileAdvice::NoReuse => 16,
    }
}

const fn mapping_advice_bit(advice: MappingAdvice) -> u32 {
    match advice {
        MappingAdvice::Sequential => 1,
        MappingAdvice::Random => 2,
        MappingAdvice::WillNeed => 4,
        MappingAdvice::DontNeed => 8,
        MappingAdvice::HugePage => 16,
        MappingAdvice::NoHugePage => 32,
    }
}
