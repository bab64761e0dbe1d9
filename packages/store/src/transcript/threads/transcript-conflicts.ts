// Lists the conflict keys of writes to a transcript.
import type { OwnerQuota, ThreadAlias, ThreadKey, WriteRequest } from '@postern/transcript'

export const transcriptConflict = ({ owner, thread_id }: ThreadKey) => JSON.stringify(['transcript', owner, thread_id])

export const aliasConflict = (owner: string, { transport, key }: ThreadAlias) =>
  JSON.stringify(['transcript alias', owner, transport, key])

/** Lists the conflict key of an owner's totals if a write compares them with a quota. */
const listQuotaConflicts = (owner: string, quota: OwnerQuota | undefined) =>
  quota ? [JSON.stringify(['quota', owner])] : []

export const listWriteConflicts = (key: ThreadKey, request: WriteRequest | undefined) => [
  transcriptConflict(key),
  ...listQuotaConflicts(key.owner, request?.quota),
]
