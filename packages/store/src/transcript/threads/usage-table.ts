// Stores the transcript totals of each owner, and checks their quota.
import { Rejection } from '@postern/message'
import type { OwnerQuota } from '@postern/transcript'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { maxOperations } from '../../transaction/bounds.ts'
import { formatZeroTotalDeletion } from '../../transaction/zero-totals.ts'

/** The running totals of transcripts, so that a quota check reads no thread. The members are operations. Those that change rows belong to a write. */
export interface UsageTable {
  /** Adds amounts to the totals of an owner. `quota` limits the totals that grow. @throws Rejection too_large */
  add(owner: string, amounts: OwnerQuota, quota?: OwnerQuota): Operation<void>
  /** Reads the totals of an owner, including their tasks and the records that agents store for them. */
  read(owner: string): Operation<OwnerQuota>
  /** Checks whether an owner may store these amounts in addition. @throws Rejection too_large */
  check(owner: string, amounts: OwnerQuota, quota: OwnerQuota): Operation<void>
  /** Checks that an owner may begin another thread, even if other transactions begin threads at the same time. @throws Rejection too_large */
  requireThread(batch: Batch, owner: string, quota: { readonly used: number; readonly quota: number }): void
}

const quotaNames = ['threads', 'entries', 'bytes'] as const
const emptyUsage: OwnerQuota = { threads: 0, entries: 0, bytes: 0 }

export function createUsageTable(db: Sql): UsageTable {
  const add = db.prepare(
    `INSERT INTO transcript_usage (owner, threads, entries, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (owner, shard) DO UPDATE SET
       threads = transcript_usage.threads + excluded.threads, entries = transcript_usage.entries + excluded.entries,
       bytes = transcript_usage.bytes + excluded.bytes`,
  )
  const deleteTotal = db.prepare(formatZeroTotalDeletion('transcript_usage', ['threads', 'entries', 'bytes']))
  const find = db.prepare<OwnerQuota>(
    `SELECT sum(threads) AS threads, sum(entries) AS entries, sum(bytes) AS bytes FROM (
       SELECT threads, entries, bytes FROM transcript_usage WHERE owner = ?1
       UNION ALL SELECT 0, tasks, bytes FROM task_bytes WHERE owner = ?1
       UNION ALL SELECT 0, 0, bytes FROM kept_data WHERE owner = ?1
       UNION ALL SELECT 0, 0, 0)`,
  )

  const checkThreads = db.prepareCheck(
    'SELECT coalesce(sum(threads), 0) <= ?2 AS is_so FROM transcript_usage WHERE owner = ?1',
  )

  function* read(owner: string) {
    return (yield* find.get(owner)) ?? emptyUsage
  }

  function* check(owner: string, amounts: OwnerQuota, quota: OwnerQuota): Operation<void> {
    const usage = yield* read(owner)
    for (const name of quotaNames)
      if (amounts[name] > 0 && usage[name] + amounts[name] > quota[name]) refuse(name, quota[name])
  }

  return {
    *add(owner, amounts, quota) {
      if (quotaNames.every(name => amounts[name] === 0)) return
      if (quota) yield* check(owner, amounts, quota)
      add.run(owner, amounts.threads, amounts.entries, amounts.bytes)
      if (amounts.threads < 0) deleteTotal.run(owner)
    },
    read,
    check,
    requireThread(batch, owner, { used, quota }) {
      if (quota - used <= maxOperations) batch.standAlone()
      if (used >= quota) refuse('threads', quota)
      if (batch.hasCompany) batch.checks.set(`threads of ${owner}`, () => checkThreads(owner, quota))
    },
  }
}

function refuse(kind: keyof OwnerQuota, limit: number): never {
  throw new Rejection('too_large', `Cannot store: with it you would have more than ${limit} ${kind}`)
}
