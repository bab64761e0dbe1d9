import type { EntryBody, LosslessDiff } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import { scopeOfKind } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import { diffJson, hashContent, patchJson, presentMembers } from '../json/difference.ts'
import type { Codec, Dialect, ReadContext, Reading, TranscriptDraft, WriteOptions } from './dialect.ts'
import { listClaimedIds } from './dialect.ts'

/** The codec of a dialect. Residue, markers and trust are the same for all dialects. */
export function createCodec<Foreign extends JsonMap>(dialect: Dialect<Foreign>): Codec<Foreign> {
  return {
    format: dialect.format,
    parse: value => dialect.parse(value),
    listClaims: messages => messages.flatMap(value => listClaimedIds(dialect.readMarker(dialect.parse(value)))),
    read(messages, context) {
      const entries: EntryBody[] = []
      const before = [...(context.before ?? [])]
      for (const [index, value] of messages.entries()) {
        const read = readMessage(value, { context, index, before }, dialect)
        entries.push(...read)
        before.push(...read)
      }
      return entries
    },
    write: (entries, options) => writeMessages(entries, dialect, options),
    countWhole: entries => countWhole(entries, dialect),
    diffOf: (run, message) => diffMessage(run, message, dialect),
  }
}

/** The entries of one message: the stored ones that it claims, or new ones. */
function readMessage<Foreign extends JsonMap>(
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
function diffMessage<Foreign extends JsonMap>(
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
    // Of a member without a value the context's counts.
    ...presentMembers(draft),
  }))
  return bodies as unknown as EntryRun
}

/** The messages of the dialect that the entries are. */
function writeMessages<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
  options: WriteOptions = {},
): readonly Foreign[] {
  return splitRuns(entries, dialect).map(run => writeRun(run, dialect, options))
}

function writeRun<Foreign extends JsonMap>(
  run: EntryRun,
  dialect: Dialect<Foreign>,
  { marker = 'foreign', omitsOwnIds = false }: WriteOptions,
): Foreign {
  const { format } = dialect
  const message = dialect.toMessage(run)
  const isOwn = ownRunLength(run, 0, format) === run.length
  const patched = isOwn ? patchJson(message, run[0].ext?.[format]?.patch) : message
  const bare = omitsOwnIds && !isOwn ? (dialect.dropOwnId?.(message) ?? message) : (patched as Foreign)
  const hasMarker = marker === 'all' || (marker === 'foreign' && !isOwn)
  return hasMarker ? dialect.addMarker(bare, run) : bare
}

/** The entries of one message. */
export type EntryRun = readonly [EntryBody, ...EntryBody[]]

/** How many entries the message at `place` became; 0 when it is incomplete there, or not of this dialect. */
function ownRunLength(entries: readonly EntryBody[], place: number, format: FormatName): number {
  const head = entries[place]
  const length = head?.ext?.[format]?.of ?? 0
  if (length <= 1) return length
  const run = entries.slice(place, place + length)
  return run.length === length && run.every(({ group_id }) => group_id === head?.entry_id) ? length : 0
}

function splitRuns<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
): readonly EntryRun[] {
  const runs: EntryRun[] = []
  let place = 0
  while (place < entries.length) {
    const length = countRunAt(entries, place, dialect)
    if (!isToldElsewhere(entries[place], dialect.format)) {
      runs.push(entries.slice(place, place + length) as unknown as EntryRun)
    }
    place += length
  }
  return runs
}

function isToldElsewhere(entry: EntryBody | undefined, format: FormatName): boolean {
  return entry?.ext?.[format]?.of === 0
}

function countRunAt<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  place: number,
  dialect: Dialect<Foreign>,
): number {
  if (isToldElsewhere(entries[place], dialect.format)) return 1
  return ownRunLength(entries, place, dialect.format) || countForeignRun(entries, place, dialect)
}

function countWhole<Foreign extends JsonMap>(entries: readonly EntryBody[], dialect: Dialect<Foreign>): number {
  let place = 0
  while (place < entries.length) {
    const length = countRunAt(entries, place, dialect)
    const isOpen = place + length === entries.length && mayGoOn(entries[place], length, dialect.format)
    if (isOpen || place + (entries[place]?.ext?.[dialect.format]?.of ?? 0) > entries.length) return place
    place += length
  }
  return place
}

/** Only entries of one group are one message. Messages of this dialect stored their length. */
function mayGoOn(head: EntryBody | undefined, length: number, format: FormatName): boolean {
  return head?.group_id !== undefined && head.ext?.[format]?.of !== length && length < longestForeignRun
}

const longestForeignRun = 64

/** A run of another dialect's entries never includes the first entry of a message of this dialect. */
function countForeignRun<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  place: number,
  dialect: Dialect<Foreign>,
): number {
  const near = entries.slice(place, place + longestForeignRun)
  const next = near.findIndex((_, index) => index > 0 && ownRunLength(entries, place + index, dialect.format) > 0)
  return dialect.countRun(next < 0 ? near : near.slice(0, next))
}
