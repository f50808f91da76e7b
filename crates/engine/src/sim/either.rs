//! One source of two kinds, so that block workers and flow workers can share a phase.

use crate::op::Operation;
use crate::source::Source;
use plumb_workload::OpKind;

/// A source of one of two kinds.
#[derive(Debug, Clone)]
pub enum Either<A, B> {
    /// The first.
    Left(A),
    /// The second.
    Right(B),
}

/// An op of a source of one of two kinds.
#[derive(Debug, Clone, Copy)]
pub enum EitherOp<A, B> {
    /// Of the first.
    Left(A),
    /// Of the second.
    Right(B),
}

impl<A: Operation, B: Operation> Operation for EitherOp<A, B> {
    #[inline]
    fn kind(&self) -> OpKind {
        match self {
            EitherOp::Left(op) => op.kind(),
            EitherOp::Right(op) => op.kind(),
        }
    }
    #[inline]
    fn offset(&self) -> u64 {
        match self {
            EitherOp::Left(op) => op.offset(),
            EitherOp::Right(op) => op.offset(),
        }
    }
    #[inline]
    fn length(&self) -> u64 {
        match self {
            EitherOp::Left(op) => op.length(),
            EitherOp::Right(op) => op.length(),
        }
    }
    #[inline]
    fn counts(&self) -> bool {
        match self {
            EitherOp::Left(op) => op.counts(),
            EitherOp::Right(op) => op.counts(),
        }
    }
}

impl<A: Source, B: Source> Source for Either<A, B> {
    type Op = EitherOp<A::Op, B::Op>;

    #[inline]
    fn next(&mut self) -> Option<Self::Op> {
        match self {
            Either::Left(source) => source.next().map(EitherOp::Left),
            Either::Right(source) => source.next().map(EitherOp::Right),
        }
    }

    fn failed(&mut self, op: &Self::Op) {
        match (self, op) {
            (Either::Left(source), EitherOp::Left(op)) => source.failed(op),
            (Either::Right(source), EitherOp::Right(op)) => source.failed(op),
            // An op goes back to the source that it came from.
            (Either::Left(_), EitherOp::Right(_)) | (Either::Right(_), EitherOp::Left(_)) => {}
        }
    }

    fn transactions(&self) -> Option<u64> {
        match self {
            Either::Left(source) => source.transactions(),
            Either::Right(source) => source.transactions(),
        }
    }
}
