//! The columns of the table, in order: name, type, meaning and source.

use crate::flat::{FlatNumber, FlatRun, better};
use parquet::basic::{LogicalType, Repetition, TimeUnit, TimestampType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use std::borrow::Cow;
use std::sync::Arc;

/// A column of the table.
pub struct Column {
    pub name: &'static str,
    /// Meaning, with the unit.
    pub doc: &'static str,
    pub(super) read: Read,
}

/// The type of a column, named as in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Double,
    Long,
    Int,
    Flag,
    Time,
    Texts,
}

impl Kind {
    /// Returns the name that DuckDB gives to the type.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "VARCHAR",
            Kind::Double => "DOUBLE",
            Kind::Long => "BIGINT",
            Kind::Int => "INTEGER",
            Kind::Flag => "BOOLEAN",
            Kind::Time => "TIMESTAMP WITH TIME ZONE",
            Kind::Texts => "VARCHAR[]",
        }
    }
}

type Of<T> = fn(&FlatRun, &FlatNumber) -> T;

/// Reads a cell from a number and its run; the type decides how the column is stored.
#[derive(Clone, Copy)]
pub(super) enum Read {
    Text(for<'a> fn(&'a FlatRun, &'a FlatNumber) -> Option<Cow<'a, str>>),
    Double(Of<Option<f64>>),
    Long(Of<Option<i64>>),
    Int(Of<Option<i32>>),
    Flag(Of<bool>),
    Time(Of<Option<i64>>),
    Texts(fn(&FlatRun) -> &[String]),
}

impl Column {
    const fn new(name: &'static str, doc: &'static str, read: Read) -> Column {
        Column { name, doc, read }
    }

    pub fn kind(&self) -> Kind {
        match self.read {
            Read::Text(_) => Kind::Text,
            Read::Double(_) => Kind::Double,
            Read::Long(_) => Kind::Long,
            Read::Int(_) => Kind::Int,
            Read::Flag(_) => Kind::Flag,
            Read::Time(_) => Kind::Time,
            Read::Texts(_) => Kind::Texts,
        }
    }

    fn field(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self.read {
            Read::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Read::Double(_) => (PhysicalType::DOUBLE, None),
            Read::Long(_) => (PhysicalType::INT64, None),
            Read::Int(_) => (PhysicalType::INT32, None),
            Read::Flag(_) => (PhysicalType::BOOLEAN, None),
            Read::Time(_) => {
                let time = LogicalType::Timestamp(TimestampType { is_adjusted_to_u_t_c: true, unit: TimeUnit::MICROS });
                (PhysicalType::INT64, Some(time))
            }
            Read::Texts(_) => return list(self.name),
        };
        let field = Type::primitive_type_builder(self.name, physical).with_logical_type(logical);
        Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
    }
}

/// Returns a list of texts, in the three levels that the format asks for.
fn list(name: &str) -> Result<TypePtr, ParquetError> {
    let element = Type::primitive_type_builder("element", PhysicalType::BYTE_ARRAY)
        .with_logical_type(Some(LogicalType::String))
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let elements = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    let list = Type::group_type_builder(name)
        .with_logical_type(Some(LogicalType::List))
        .with_repetition(Repetition::OPTIONAL)
        .with_fields(vec![Arc::new(elements)])
        .build()?;
    Ok(Arc::new(list))
}

/// Returns the type of the table.
pub(super) fn schema() -> Result<Type, ParquetError> {
    let fields = COLUMNS.iter().map(Column::field).collect::<Result<_, _>>()?;
    Type::group_type_builder("numbers").with_fields(fields).build()
}

fn known(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

fn borrowed(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

/// Returns the start of a run in microseconds since 1970; `None` if an imported result has no valid time.
fn started_us(run: &FlatRun) -> Option<i64> {
    run.started_at.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

fn interval(number: &FlatNumber, of: fn(&crate::FlatInterval) -> f64) -> Option<f64> {
    number.interval.as_ref().map(of)
}

/// The columns, in order.
pub const COLUMNS: &[Column] = &[
    Column::new("run", "id of the run", Read::Text(|run, _| borrowed(&run.id))),
    Column::new("started", "start of the run", Read::Time(|run, _| started_us(run))),
    Column::new("host", "host name of the machine", Read::Text(|run, _| known(&run.site.host))),
    Column::new("kernel", "release of its kernel", Read::Text(|run, _| known(&run.site.kernel))),
    Column::new("place", "paths that were measured", Read::Text(|run, _| known(&run.site.place))),
    Column::new("filesystem", "types of their file systems", Read::Text(|run, _| known(&run.site.filesystem))),
    Column::new("device", "models of the devices below", Read::Text(|run, _| known(&run.site.device))),
    Column::new("tool", "program that measured", Read::Text(|run, _| borrowed(&run.tool))),
    Column::new("workload", "name of the workload", Read::Text(|run, _| borrowed(&run.workload))),
    Column::new("phase", "name of the phase", Read::Text(|_, number| borrowed(&number.phase))),
    Column::new("metric", "name of the metric", Read::Text(|_, number| Some(number.metric.to_string().into()))),
    Column::new("unit", "unit of `value`", Read::Text(|_, number| borrowed(number.metric.unit().symbol()))),
    Column::new("better", "`higher` or `lower`", Read::Text(|_, number| borrowed(better(number.metric)))),
    Column::new("value", "the number", Read::Double(|_, number| Some(number.value))),
    Column::new("lo", "lower end of its interval", Read::Double(|_, number| interval(number, |one| one.lo))),
    Column::new("hi", "upper end of its interval", Read::Double(|_, number| interval(number, |one| one.hi))),
    Column::new(
        "confidence",
        "coverage of the interval, 0–1",
        Read::Double(|_, number| interval(number, |one| one.confidence)),
    ),
    Column::new(
        "n",
        "ops that it summarises",
        Read::Long(|_, number| number.n.map(|n| i64::try_from(n).unwrap_or(i64::MAX))),
    ),
    Column::new(
        "tier",
        "origin of the bytes: `device`, `server`, `cache`, `mixed`, `unknown`",
        Read::Text(|_, number| borrowed(number.tier?.name())),
    ),
    Column::new(
        "device_share",
        "share of the bytes that the device moved",
        Read::Double(|_, number| number.device_share),
    ),
    Column::new("verdict", "`pass`, `caution`, `reject`, `unknown`", Read::Text(|run, _| borrowed(run.verdict.name()))),
    Column::new("partial", "whether the run ended early", Read::Flag(|run, _| run.partial)),
    Column::new("tags", "tags of the run", Read::Texts(|run| &run.tags)),
    Column::new("study", "name of its study", Read::Text(|run, _| borrowed(&run.study.as_ref()?.name))),
    Column::new("plot", "plot in the study, from 1", Read::Int(|run, _| i32::try_from(run.study.as_ref()?.plot).ok())),
    Column::new(
        "repeat",
        "repetition on its plot, from 1",
        Read::Int(|run, _| i32::try_from(run.study.as_ref()?.repeat).ok()),
    ),
    Column::new(
        "factors",
        "levels of the study's factors, a JSON object",
        Read::Text(|run, _| {
            let factors = &run.study.as_ref()?.factors;
            serde_json::to_string(factors).ok().map(Cow::Owned)
        }),
    ),
];
