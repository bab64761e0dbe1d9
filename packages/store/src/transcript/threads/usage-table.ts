// Keeps the transcript totals of each owner within their quota.
import { Rejection } from '@postern/message'
import type { OwnerQuota } from '@postern/transcript'
import { prepareCheck } from '../../sql/engine-defaults.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { mostAtOnce } from '../../transaction/bounds.ts'
import { endZeroTotals } from '../../transaction/zero-totals.ts'

/** Running totals of transcripts, so that a quota check reads no thread. All members run synchronously, and those that write inside a write. */
export interface UsageTable {
  /** Adds to the totals of an owner. `most` bounds those that grow. @throws Rejection too_large */
  add(owner: string, by: OwnerQuota, most?: OwnerQuota): void
  /** Reads the totals of an owner, with those of their tasks and of the records that agents keep for them. */
  read(owner: string): OwnerQuota
  /** Checks whether an owner may store `by` more. @throws Rejection too_large */
  check(owner: string, by: OwnerQuota, most: OwnerQuota): void
  /** Checks whether an owner may begin one more thread, also against other writers at the same time. @throws Rejection too_large */
  requireThread(batch: Batch, owner: string, quota: { readonly used: number; readonly most: number }): void
}

const nothing: OwnerQuota = { threads: 0, entries: 0, bytes: 0 }

export function createUsageTable(db: Sql): UsageTable {
  const add = db.prepare(
    `INSERT INTO transcript_usage (owner, threads, entries, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (owner, shard) DO UPDATE SET
       threads = transcript_usage.threads + excluded.threads, entries = transcript_usage.entries + excluded.entries,
       bytes = transcript_usage.bytes + excluded.bytes`,
  )
  const end = db.prepare(endZeroTotals('transcript_usage', ['threads', 'entries', 'bytes']))
  const find = db.prepare<OwnerQuota>(
    `SELECT sum(threads) AS threads, sum(entries) AS entries, sum(bytes) AS bytes FROM (
       SELECT threads, entries, bytes FROM transcript_usage WHERE owner = ?1
       UNION ALL SELECT 0, tasks, bytes FROM task_bytes WHERE owner = ?1
       UNION ALL SELECT 0, 0, bytes FROM kept_data WHERE owner = ?1
       UNION ALL SELECT 0, 0, 0)`,
  )

  const checkThreads = prepareCheck(
    db,
    'SELECT coalesce(sum(threads), 0) <= ?2 AS is_so FROM transcript_usage WHERE owner = ?1',
  )

  const read = (owner: string) => find.get(owner) ?? nothing

  function check(owner: string, by: OwnerQuota, most: OwnerQuota): void {
    const used = read(owner)
    for (const name of kinds) if (by[name] > 0 && used[name] + by[name] > most[name]) refuse(name, most[name])
  }

  return {
    add(owner, by, most) {
      if (kinds.every(name => by[name] === 0)) return
      if (most) check(owner, by, most)
      add.run(owner, by.threads, by.entries, by.bytes)
      if (by.threads < 0) end.run(owner)
    },
    read,
    check,
    requireThread(batch, owner, { used, most }) {
      if (most - used <= mostAtOnce) batch.standAlone()
      if (used >= most) refuse('threads', most)
      if (batch.hasCompany) batch.checks.set(`threads of ${owner}`, () => checkThreads(owner, most))
    },
  }
}

function refuse(kind: keyof OwnerQuota, most: number): never {
  throw new Rejection('too_large', `Cannot store: with it you would have more than ${most} ${kind}`)
}

const kinds = ['threads', 'entries', 'bytes'] as const
