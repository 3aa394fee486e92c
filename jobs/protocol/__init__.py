"""The commit protocol: exactly once on a plain object store, whatever dies.

Problem
-------
Millions of documents become rows of Parquet files that people read while a job is
writing. Driver, workers, nodes and store may die or stall at any moment, and what was
believed dead may wake up. Running the same command again must give the rows of an
undisturbed run, nothing twice, and a feed of changes that a vector store can follow.
All there is to build on: whole-object writes that are atomic, ``create`` (fails if the
object exists), and listings and reads that see what was written before.

Choices
-------
*Truth and view.* A bucket's state is a chain of versions, each an immutable object that
names immutable files by hash. The plain directory is a view: byte copies that name
their original in their own metadata, so that any of them can be checked and made again.

*One decision per step.* Everything is first written to keys unique to the attempt, then
decided by one ``create``: the lease epoch, the plan, a unit's marker, a bucket version.
The loser of a ``create`` has changed nothing that anyone reads.

*Leases do not stop zombies; fences do.* No check can keep a stalled process from one
late write. A new run therefore takes an epoch, and then, in each bucket that an
unfinished older run may still publish, commits a *fence*: a version that repeats the
last one. The older run's ``create`` of that version number fails, and a version of a
later epoch makes it stop. Only then is the state read that the new plan is made from.

*Finished work is adopted.* The units that unfinished runs have committed are taken over
by markers of the new run that name the old data, for documents still listed with the
same etag and under the same fingerprint. All other old units are simply never read.

*A bucket is published once per run*, when all its units are committed (or, on an
interruption, with those that are). So a chunk id is in a run's feed at most once.

Order of a run
--------------
epoch; fences; mend plain files and feeds; read the state; plan; adopt; (per unit) data,
marker; (per bucket) files, version, copies of changes, boundaries, chunks, documents;
mend again; report; release.

Why it holds
------------
1. *At most one history.* Version n+1 is created by a run that has read version n and
   whose epoch is not lower. Suppose run E is superseded by F. If E's plan was there when
   F looked, F has fenced every bucket where E had work left: E's ``create`` there loses,
   whenever it comes. If not, E wrote its plan after F took its epoch, and E looks at the
   lease after its plan and before each ``create``: it stops. So nothing that E does after
   F's fences changes a chain, and F plans from a state that only F can change.
2. *Nothing lost.* A committed unit is either in a version or named by a marker of a run
   after the last completed one, and a run completes only when its whole plan, which covers
   the whole listing, is published. A document without either is planned again.
3. *Nothing twice.* A version's rows are those of the version before, less every document
   that was attempted or deleted, plus the attempts' rows; a document is in one unit of a
   plan, and a unit has one marker. Doing a step again finds its outcome already decided.
4. *The feed replays.* Change rows are the difference of two neighbours in one chain,
   committed by the same ``create`` as the version. Their plain copies are made before the
   run completes, or by the next run, which looks at all runs since the last completed one.
5. *The view agrees.* At its start and its end a run compares every plain file with its
   chain, by the etag where that is known, else by the name in the file; whatever differs
   is copied again. Without partitions a document is in one file of each table, so a
   reader can never see it twice; with them, files that a document leaves are written
   before files that it enters. A zombie's late copy in a partitioned dataset may show a
   moved document twice until the next mending; the store offers nothing to prevent it.

Rejected
--------
*Checkpoints or the write path of the data engine*: doubled or lost chunks when one
document makes many rows. *Renames*: not atomic on object stores. *Conditional
replacement (If-Match)*: not offered everywhere. *A transaction log for the whole
dataset* (as in table formats): every commit would contend for one object, and plain
readers would need its reader. *Rebasing after a zombie's commit* instead of fencing: the
plan would stand on a state that has changed, and a source that changed back would be
missed. *Clocks*: two machines' clocks are never compared; expiry is what one observer
sees on its own monotonic clock.
"""
