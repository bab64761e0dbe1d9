// Limits the stored bytes of one sender, and of all senders without proof.
import type { StorageQuota } from '@postern/pipeline'
import type { MessageDraft } from '../messages/message-draft.ts'
import { formatStorageOwner } from '../messages/message-draft.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import { batchSize } from '../transaction/bounds.ts'

/** The name of the total of all senders without proof. */
const unprovenOwner = 'unproven'

/** The stored bytes of a sender, and of all unproven senders, before a message is added. */
export interface StoredTotals {
  readonly of_sender: number | null
  readonly of_unproven: number | null
}

/** Returns the totals as columns of a SELECT. `sender` is the parameter that names the owner. */
export function selectTotals(sender: string): string {
  const totalOf = (owner: string) => `(SELECT sum(bytes) FROM stored_bytes WHERE owner = ${owner})`
  return `${totalOf(sender)} AS of_sender, ${totalOf(`'${unprovenOwner}'`)} AS of_unproven`
}

/** Returns the number of bytes that a message counts for its sender, as the triggers of the tables count them. */
export function storedSizeOf({ intake, entry, envelope, arrival, rawBlob, blobs }: MessageDraft): number {
  const rowBytes = [entry.content, envelope, arrival ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const rawBytes = rawBlob ? 0 : intake.raw.bytes.byteLength
  const digests = new Set<string>()
  const separateBlobs = blobs.filter(({ digest, part }) => !part && !digests.has(digest) && digests.add(digest))
  return rowBytes + rawBytes + separateBlobs.reduce((sum, { bytes }) => sum + bytes.byteLength, 0)
}

/** The free bytes of a quota below which the end of the transaction checks the total again. Other gateways may store as much at the same time. */
const recheckBytes = 256 * 1024 * 1024
/**
 * The free bytes of a quota below which a message gets a transaction of its own. The messages of one transaction have up to `batchSize` characters in
 * total, and their checks do not see each other.
 */
const exclusiveBytes = 4 * batchSize

type StorageRefusal = 'sender_full' | 'unproven_full'

interface AppliedQuota {
  readonly refusal: StorageRefusal
  readonly owner: string
  readonly maxBytes: number
  /** Stored bytes of the owner. */
  readonly total: number
}

function listQuotas(storage: StorageQuota, totals: StoredTotals): readonly AppliedQuota[] {
  const { maxBytes, maxUnprovenBytes, isProven } = storage
  const senderQuota = {
    refusal: 'sender_full',
    owner: formatStorageOwner(storage),
    total: totals.of_sender ?? 0,
  } as const
  const unprovenQuota = { refusal: 'unproven_full', owner: unprovenOwner, total: totals.of_unproven ?? 0 } as const
  return [
    ...(maxBytes === undefined ? [] : [{ ...senderQuota, maxBytes }]),
    ...(maxUnprovenBytes === undefined || isProven ? [] : [{ ...unprovenQuota, maxBytes: maxUnprovenBytes }]),
  ]
}

type FindStorageRefusal = (
  batch: Batch,
  draft: MessageDraft,
  totals: StoredTotals | undefined,
) => StorageRefusal | undefined

/** Prepares the search for a storage quota that a message would exceed. In a shared transaction, the end of the transaction checks the quota again. */
export function createStorageCheck(db: Sql): FindStorageRefusal {
  const isWithinQuota = db.prepareCheck(
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
    const refusal = quotas.find(({ total, maxBytes }) => total + size > maxBytes)?.refusal
    if (refusal) return refusal
    if (batch.hasCompany) for (const quota of quotas) reserveQuota(batch, quota, quota.maxBytes - quota.total - size)
    return undefined
  }
}
