import type { EntryBody, LosslessDiff } from '../entry/entry.ts'
import { scopeOfKind } from '../entry/kind.ts'
import { hashContent } from '../json/content-hash.ts'
import { diffJson, type JsonMap } from '../json/difference.ts'
import type { ReadContext } from './codec.ts'
import type { Dialect, Reading, TranscriptDraft } from './dialect.ts'
import { listClaimedIds } from './origin-marker.ts'
import type { EntryRun } from './runs.ts'
import { writeMessages } from './write-messages.ts'

/** The entries of one message: the stored ones that it claims, or new ones. */
export function readMessage<Foreign extends JsonMap>(
  value: unknown,
  reading: Reading,
  dialect: Dialect<Foreign>,
): readonly EntryBody[] {
  const { index, context } = reading
  const message = dialect.parse(value, (code, words) => context.report?.({ code, message: words, index }))
  if (dialect.readMarker(message) === undefined) return readNew(message, reading, dialect, dialect.listDropped?.(value))
  const trusted = findTrusted(message, context, dialect)
  if (trusted) return trusted
  if (!dialect.markerIsId)
    context.report?.({ code: 'bag_not_trusted', message: 'the message is not the entry it claims to be', index })
  return readNew(dialect.stripMarker(message), reading, dialect, dialect.listDropped?.(value))
}

/** What the message has beside what its entries say. */
export function diffMessage<Foreign extends JsonMap>(
  run: EntryRun,
  message: Foreign,
  dialect: Dialect<Foreign>,
): LosslessDiff {
  const patch = diffJson(dialect.toMessage(run), message)
  return { of: run.length, ...(patch && { patch }) }
}

/** The stored entries that a message claims, if they exist and have the same content. */
function findTrusted<Foreign extends JsonMap>(
  message: Foreign,
  context: ReadContext,
  dialect: Dialect<Foreign>,
): readonly EntryBody[] | undefined {
  const ids = listClaimedIds(dialect.readMarker(message))
  const stored = ids.map(id => context.find?.(id)).filter(entry => entry?.thread_id === context.thread_id)
  const found = stored.filter(entry => entry !== undefined)
  if (found.length === 0 || found.length !== ids.length) return undefined
  const written = writeMessages(found, dialect, { marker: 'none' })
  const [same] = written
  return same && written.length === 1 && agrees(message, same, dialect) ? found : undefined
}

function agrees<Foreign extends JsonMap>(message: Foreign, written: Foreign, dialect: Dialect<Foreign>): boolean {
  const [ours, theirs] = [written, dialect.stripMarker(message)].map(one => hashContent(dialect.essenceOf(one)))
  return ours === theirs
}

function readNew<Foreign extends JsonMap>(
  message: Foreign,
  reading: Reading,
  dialect: Dialect<Foreign>,
  dropped: JsonMap | undefined,
): readonly EntryBody[] {
  const bodies = completeDrafts(dialect.toDrafts(message, reading), reading.context)
  const diff = { ...diffMessage(bodies, message, dialect), ...(dropped && { dropped }) }
  const [head, ...rest] = bodies
  return [{ ...head, ext: { [dialect.format]: diff } } as EntryBody, ...rest]
}

function completeDrafts(drafts: readonly [TranscriptDraft, ...TranscriptDraft[]], context: ReadContext): EntryRun {
  const ids = drafts.map(() => context.newId())
  const [group_id] = ids
  const bodies = drafts.map((draft, index) => ({
    entry_id: ids[index] as string,
    thread_id: context.thread_id,
    scope: scopeOfKind(draft.kind, draft.role),
    at: context.at,
    ...(context.agent_key !== undefined && { agent_key: context.agent_key }),
    ...(context.run_id !== undefined && { run_id: context.run_id }),
    ...(drafts.length > 1 && { group_id }),
    ...withoutAbsent(draft),
  }))
  return bodies as unknown as EntryRun
}

/** A draft may have a member without a value; then the context's value counts. */
function withoutAbsent(draft: TranscriptDraft): TranscriptDraft {
  return Object.fromEntries(
    Object.entries(draft).filter(([, value]) => value !== undefined),
  ) as unknown as TranscriptDraft
}
