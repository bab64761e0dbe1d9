// Limits the stored bytes of one sender, and of all senders without proof.
import type { StorageQuota } from '@postern/pipeline'
import type { MessageDraft } from '../messages/message-draft.ts'
import { formatStorageOwner } from '../messages/message-draft.ts'
import { prepareCheck } from '../sql/engine-defaults.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import { batchSize } from '../transaction/bounds.ts'

/** The name of the total of all senders without proof. */
const unprovenOwner = 'unproven'

/** Stored bytes before a message is added. */
export interface StoredTotals {
  readonly of_sender: number | null
  readonly of_unproven: number | null
}

/** Returns the totals as columns of a SELECT. `sender` is the parameter that names the owner. */
export function selectTotals(sender: string): string {
  const totalOf = (owner: string) => `(SELECT sum(bytes) FROM stored_bytes WHERE owner = ${owner})`
  return `${totalOf(sender)} AS of_sender, ${totalOf(`'${unprovenOwner}'`)} AS of_unproven`
}

/** Returns how many bytes a message counts for its sender, as the triggers of its tables count it. */
export function storedSizeOf({ intake, entry, envelope, arrival, rawBlob, blobs }: MessageDraft): number {
  const row = [entry.content, envelope, arrival ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const raw = rawBlob ? 0 : intake.raw.bytes.byteLength
  const digests = new Set<string>()
  const separateBlobs = blobs.filter(({ digest, part }) => !part && !digests.has(digest) && digests.add(digest))
  return row + raw + separateBlobs.reduce((sum, { bytes }) => sum + bytes.byteLength, 0)
}

/** The free bytes of a quota below which the end of the transaction checks the total again. Other gateways may store as much at the same time. */
const recheckBytes = 256 * 1024 * 1024
/**
 * The free bytes of a quota below which a message gets a transaction of its own. Messages of one transaction, of `batchSize` characters together, do
 * not see each other.
 */
const exclusiveBytes = 4 * batchSize

type ExceededQuota = 'sender_full' | 'unproven_full'

interface AppliedQuota {
  readonly exceeded: ExceededQuota
  readonly owner: string
  readonly maxBytes: number
  /** Stored bytes of the owner. */
  readonly total: number
}

function listQuotas(storage: StorageQuota, totals: StoredTotals): readonly AppliedQuota[] {
  const { maxBytes, maxUnprovenBytes, isProven } = storage
  const senderQuota = {
    exceeded: 'sender_full',
    owner: formatStorageOwner(storage),
    total: totals.of_sender ?? 0,
  } as const
  const unprovenQuota = { exceeded: 'unproven_full', owner: unprovenOwner, total: totals.of_unproven ?? 0 } as const
  return [
    ...(maxBytes === undefined ? [] : [{ ...senderQuota, maxBytes }]),
    ...(maxUnprovenBytes === undefined || isProven ? [] : [{ ...unprovenQuota, maxBytes: maxUnprovenBytes }]),
  ]
}

type FindExceeded = (batch: Batch, draft: MessageDraft, totals: StoredTotals | undefined) => ExceededQuota | undefined

/** Prepares the search for a storage quota that a message would exceed. With other writers the end of the transaction checks it again. */
export function createStorageCheck(db: Sql): FindExceeded {
  const isWithinQuota = prepareCheck(
    db,
    'SELECT coalesce(sum(bytes), 0) <= ?2 AS is_so FROM stored_bytes WHERE owner = ?1',
  )

  function reserveQuota(batch: Batch, { owner, maxBytes }: AppliedQuota, freeBytes: number): void {
    if (freeBytes < exclusiveBytes) batch.standAlone()
    if (freeBytes < recheckBytes) batch.checks.set(`stored of ${owner}`, () => isWithinQuota(owner, maxBytes))
  }

  return (batch, draft, totals) => {
    const { storage } = draft.intake
    const quotas = storage && totals ? listQuotas(storage, totals) : []
    if (quotas.length === 0) return undefined
    const size = storedSizeOf(draft)
    const exceededQuota = quotas.find(({ total, maxBytes }) => total + size > maxBytes)?.exceeded
    if (exceededQuota) return exceededQuota
    if (batch.hasCompany) for (const quota of quotas) reserveQuota(batch, quota, quota.maxBytes - quota.total - size)
    return undefined
  }
}
