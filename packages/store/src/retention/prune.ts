// Deletes messages, raw bytes, files and refusals that are older than the operator's limits.
import type { Part } from '@postern/message'
import type { Blob, LookupStore } from '@postern/pipeline'
import type { BlobTable } from '../blobs/blob-table.ts'
import type { RemoveMessageDeps } from '../forgetting/remove-message.ts'
import { createRemoveMessage } from '../forgetting/remove-message.ts'
import { createThreadRowRemoval } from '../forgetting/remove-thread.ts'
import type { ResponseTable } from '../messages/responses.ts'
import { maxRemovals } from '../messages/row-removal.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createTaskByteTracker } from '../tasks/task-table.ts'
import type { EntryTable } from '../threads/entries.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { CandidateList, PruneCandidate } from './candidates.ts'
import { createCandidateList } from './candidates.ts'

/** The instants before which each kind of data is deleted, ISO 8601 UTC. A kind without an instant is not deleted. */
interface PruneCutoffs {
  readonly messages?: string | undefined
  readonly unproven?: string | undefined
  readonly raw?: string | undefined
  readonly files?: string | undefined
  readonly refused?: string | undefined
}

/** The numbers of deleted messages and refusals, of messages whose raw bytes or files were deleted, and of all deleted bytes. */
interface PruneSummary {
  readonly messages: number
  readonly unproven: number
  readonly raw: number
  readonly files: number
  readonly refused: number
  readonly bytes: number
}

export interface Pruning {
  /** Deletes data that is older than the cutoffs, slice by slice. With `isDry` it only counts. Messages with an open turn or delivery stay. */
  prune(
    cutoffs: PruneCutoffs,
    options?: { readonly isDry?: boolean; readonly signal?: AbortSignal },
  ): Promise<PruneSummary>
}

interface PruneDeps extends RemoveMessageDeps {
  readonly entries: EntryTable
  readonly blobs: BlobTable
  readonly responses: ResponseTable
}

/** Creates the pruning, whose statements are prepared at the first use. */
export function createPruner(context: StoreContext, tables: PruneDeps, lookup: Pick<LookupStore, 'findBlob'>): Pruning {
  let preparedPrune: Pruning['prune'] | undefined
  return {
    prune(cutoffs, options) {
      preparedPrune ??= preparePruning(context, tables, lookup)
      return preparedPrune(cutoffs, options)
    },
  }
}

type PrunedKind = 'messages' | 'unproven' | 'raw' | 'files'

/** Returns the kinds of data of a message that must be deleted. The deletion of the whole message includes all other kinds. */
function listPrunedKinds(candidate: PruneCandidate, cutoffs: PruneCutoffs): readonly PrunedKind[] {
  const isOlder = (cutoff: string | undefined) => cutoff !== undefined && candidate.at < cutoff
  if (isOlder(cutoffs.messages)) return ['messages']
  if (candidate.isUnproven && isOlder(cutoffs.unproven)) return ['unproven']
  const files = candidate.hasFiles && isOlder(cutoffs.files)
  const raw = candidate.rawBytes > 0 && (isOlder(cutoffs.raw) || (files && candidate.partDigests.length > 0))
  return [...(files ? (['files'] as const) : []), ...(raw ? (['raw'] as const) : [])]
}

function countPrunedBytes({ rowBytes, rawBytes, fileBytes }: PruneCandidate, kinds: readonly PrunedKind[]): number {
  if (deletesMessage(kinds)) return rowBytes + rawBytes + fileBytes
  return (kinds.includes('raw') ? rawBytes : 0) + (kinds.includes('files') ? fileBytes : 0)
}

interface PrunePlan {
  readonly candidate: PruneCandidate
  readonly kinds: readonly PrunedKind[]
}

const deletesMessage = (kinds: readonly PrunedKind[]) => kinds.includes('messages') || kinds.includes('unproven')

function preparePruning(
  context: StoreContext,
  tables: PruneDeps,
  lookup: Pick<LookupStore, 'findBlob'>,
): Pruning['prune'] {
  const { db, write, scrub } = context
  const list = createCandidateList(db)
  const pruneSlice = createSlicePruner(context, { tables, lookup, list })
  const deleteEmptyThreads = createEmptyThreadRemoval(db)
  const refusals = createRefusalPruner(db)

  async function pruneMessages(cutoffs: PruneCutoffs, newest: string, progress: PruneProgress): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined && !progress.signal?.aborted; ) {
      const previousSeq: number = after
      const candidates = await db.read(() => list.read(previousSeq, newest, maxRemovals))
      const plans = planSlice(candidates, cutoffs)
      countPlans(progress, plans)
      const deletedThreads = progress.isDry || plans.length === 0 ? [] : await pruneSlice(plans)
      for (const thread of deletedThreads) progress.threads.add(thread)
      after = candidates.length < maxRemovals ? undefined : candidates.at(-1)?.seq
    }
  }

  return async (cutoffs, { isDry = false, signal } = {}) => {
    const total = { messages: 0, unproven: 0, raw: 0, files: 0, refused: 0, bytes: 0 }
    const threads = new Set<number>()
    const newest = findNewestCutoff(cutoffs)
    if (newest !== undefined) await pruneMessages(cutoffs, newest, { total, threads, isDry, signal })
    if (threads.size > 0) await write(() => deleteEmptyThreads([...threads]))
    const { refused: refusedCutoff } = cutoffs
    if (refusedCutoff !== undefined) {
      total.refused = await (isDry
        ? db.read(() => refusals.count(refusedCutoff))
        : write(() => refusals.remove(refusedCutoff)))
    }
    if (!isDry && total.bytes > 0) scrub()
    return total
  }
}

interface PruneProgress {
  readonly total: { -readonly [Name in keyof PruneSummary]: number }
  readonly threads: Set<number>
  readonly isDry: boolean
  readonly signal: AbortSignal | undefined
}

function countPlans({ total }: PruneProgress, plans: readonly PrunePlan[]): void {
  for (const { candidate, kinds } of plans) {
    for (const kind of kinds) total[kind] += 1
    total.bytes += countPrunedBytes(candidate, kinds)
  }
}

function planSlice(candidates: readonly PruneCandidate[], cutoffs: PruneCutoffs): readonly PrunePlan[] {
  return candidates.flatMap(candidate => {
    const kinds = candidate.isOpen ? [] : listPrunedKinds(candidate, cutoffs)
    return kinds.length > 0 ? [{ candidate, kinds }] : []
  })
}

interface SliceDeps {
  readonly tables: PruneDeps
  readonly lookup: Pick<LookupStore, 'findBlob'>
  readonly list: Pick<CandidateList, 'isOpen'>
}

/** Prepares the pruning of a slice of messages. It returns the threads of the deleted messages. */
function createSlicePruner(
  { db, write, now, files }: StoreContext,
  { tables, lookup, list }: SliceDeps,
): (plans: readonly PrunePlan[]) => Promise<readonly number[]> {
  const removeMessage = createRemoveMessage(db, tables)
  const content = createContentPruner(db, tables)

  function* pruneMessage(
    batch: Batch,
    { candidate: { seq }, kinds }: PrunePlan,
    keptBlobs: readonly Blob[],
  ): Operation<readonly number[]> {
    // The message may have got an open turn or delivery in the meantime.
    if (yield* list.isOpen(seq)) return []
    if (!deletesMessage(kinds)) yield* content.prune(batch, seq, { kinds, keptBlobs })
    const thread = deletesMessage(kinds) ? yield* removeMessage(batch, seq, now()) : undefined
    return thread === undefined ? [] : [thread]
  }

  /** Prunes the raw bytes of one message, and stores the attachments that they contain as separate blobs. */
  async function pruneKeepingAttachments(plan: PrunePlan): Promise<void> {
    const blobs = await Promise.all(plan.candidate.partDigests.map(digest => db.read(() => lookup.findBlob(digest))))
    const keptBlobs = blobs.filter(blob => blob !== undefined)
    await files.retainDuring(keptBlobs, () =>
      write(function* (batch) {
        yield* pruneMessage(batch, plan, keptBlobs)
      }),
    )
  }

  return async plans => {
    const keepsAttachments = ({ candidate, kinds }: PrunePlan) =>
      kinds.includes('raw') && !kinds.includes('files') && candidate.partDigests.length > 0
    const otherPlans = plans.filter(plan => !keepsAttachments(plan))
    const threads =
      otherPlans.length > 0
        ? await write(function* (batch) {
            return (yield* mapInOrder(otherPlans, plan => pruneMessage(batch, plan, []))).flat()
          })
        : []
    for (const plan of plans.filter(keepsAttachments)) await pruneKeepingAttachments(plan)
    return threads
  }
}

/** Returns the newest cutoff. Younger messages are never read. */
function findNewestCutoff({ messages, unproven, raw, files }: PruneCutoffs): string | undefined {
  return [messages, unproven, raw, files]
    .filter(kind => kind !== undefined)
    .sort()
    .at(-1)
}

interface ContentPruning {
  prune(
    batch: Batch,
    seq: number,
    plan: { readonly kinds: readonly PrunedKind[]; readonly keptBlobs: readonly Blob[] },
  ): Operation<void>
}

/** Prepares the deletion of the raw bytes and files of a message that stays. The totals of its owner and its sender are corrected. */
function createContentPruner(db: Sql, { entries, blobs, responses }: PruneDeps): ContentPruning {
  const find = db.prepare<{ content: string; stored_by: string | null }>(
    'SELECT content, stored_by FROM messages WHERE seq = ?',
  )
  const deleteRaw = db.prepare('UPDATE messages SET raw = NULL, raw_digest = NULL, arrival = NULL WHERE seq = ?')
  const addShareChange = createTaskByteTracker(db)
  return {
    *prune(batch, seq, { kinds, keptBlobs }) {
      const row = yield* find.get(seq)
      if (!row) return
      yield* addShareChange(batch, seq, function* () {
        if (kinds.includes('files'))
          entries.reword(seq, formatJson(parseJson<readonly Part[]>(row.content).map(replaceFile)))
        if (kinds.includes('raw')) {
          yield* blobs.insertAll(keptBlobs, seq, row.stored_by)
          deleteRaw.run(seq)
        }
        yield* blobs.releaseUnnamed(batch, seq, (yield* responses.findExisting(seq))?.seq ?? seq)
      })
    },
  }
}

/** Replaces a file by a text that states the deletion. */
function replaceFile(part: Part): Part {
  if (!('bytes_ref' in part) || part.bytes_ref.kind !== 'content_addressed') return part
  const name = 'name' in part && typeof part.name === 'string' ? ` ${part.name}` : ''
  return {
    kind: 'text',
    mime: 'text/plain',
    content: `[file${name}: deleted, because it is older than files are kept]`,
  }
}

function createEmptyThreadRemoval(db: Sql): (threads: readonly number[]) => Operation<void> {
  const listEmpty = db.prepare<{ id: number }>(
    `SELECT id FROM threads WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM messages WHERE thread_id = threads.id AND scope <> 'forgotten')`,
  )
  const rows = createThreadRowRemoval(db)
  return function* (threads) {
    const emptyThreads = formatJson((yield* listEmpty.all(formatJson(threads))).map(({ id }) => id))
    rows.deleteMemory(emptyThreads)
    rows.deleteThreads(emptyThreads)
  }
}

/** Prepares the pruning of refusals. The table of refusals has at most 10,000 rows, so it needs no index. */
function createRefusalPruner(db: Sql) {
  const count = db.prepare<{ count: number }>('SELECT count(*) AS count FROM refusals WHERE at < ?')
  const remove = db.prepare('DELETE FROM refusals WHERE at < ?')
  return {
    *count(cutoff: string): Operation<number> {
      return (yield* count.get(cutoff))?.count ?? 0
    },
    remove: (cutoff: string): Operation<number> => remove.change(cutoff),
  }
}
