// Creates the lossless codec of a message format from its dialect.
import type { EntryBody, LosslessDiff } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import { scopeOfKind } from '../entry/kind.ts'
import { messageIdOf } from '../entry/message-id.ts'
import type { JsonMap } from '../json/difference.ts'
import { diffJson, hashContent, patchJson, presentMembers } from '../json/difference.ts'
import type { Codec, Dialect, ReadContext, ReadPosition, TranscriptDraft, WriteOptions } from './dialect.ts'
import { listClaimedIds, listMessageIds } from './dialect.ts'
import { maxCallDistance } from './tool-entry.ts'

/** Creates the codec of a dialect. The handling of residue, markers and trust is the same for all dialects. */
export function createCodec<Foreign extends JsonMap>(dialect: Dialect<Foreign>): Codec<Foreign> {
  return {
    format: dialect.format,
    parse: value => dialect.parse(value),
    listClaims: messages => messages.flatMap(value => listClaimedIds(dialect.readMarker(dialect.parse(value)))),
    read(messages, context) {
      const entries: EntryBody[] = []
      const precedingEntries = [...(context.precedingEntries ?? [])]
      for (const [index, value] of messages.entries()) {
        const messageEntries = readMessage(value, { context, index, precedingEntries }, dialect)
        entries.push(...messageEntries)
        precedingEntries.push(...messageEntries)
      }
      return entries
    },
    write: (entries, options) => writeMessages(entries, dialect, options),
    countCompleteEntries: entries => countCompleteEntries(entries, dialect),
    diffOf: (run, message) => diffMessage(run, message, dialect),
  }
}

/** Reads the entries of one message, which are the stored entries that it claims, or new entries. */
function readMessage<Foreign extends JsonMap>(
  value: unknown,
  reading: ReadPosition,
  dialect: Dialect<Foreign>,
): readonly EntryBody[] {
  const { index, context } = reading
  const message = dialect.parse(value, (code, message) => context.report?.({ code, message, index }))
  const marker = dialect.readMarker(message)
  if (marker === undefined) return readNewEntries(message, reading, dialect, dialect.listDropped?.(value))
  const trustedEntries = findClaimedEntries(message, reading, dialect)
  if (trustedEntries) return trustedEntries
  if (!dialect.usesIdAsMarker)
    context.report?.({ code: 'bag_not_trusted', message: 'the message is not the entry it claims to be', index })
  const newEntries = readNewEntries(dialect.stripMarker(message), reading, dialect, dialect.listDropped?.(value))
  return withMessageIds(newEntries, listMessageIds(marker))
}

/** Adds the ids under which the chat of their origin shows the entries. */
function withMessageIds(entries: readonly EntryBody[], ids: readonly string[] | undefined): readonly EntryBody[] {
  if (ids?.length !== entries.length) return entries
  return entries.map((entry, index) => {
    const message_id = ids[index]
    return message_id === undefined || message_id === messageIdOf(entry) ? entry : { ...entry, message_id }
  })
}

/** Returns the difference between a message and the message that its entries alone would produce. */
function diffMessage<Foreign extends JsonMap>(
  run: EntryRun,
  message: Foreign,
  dialect: Dialect<Foreign>,
): LosslessDiff {
  const patch = diffJson(dialect.toMessage(run), message)
  return { of: run.length, ...(patch && { patch }) }
}

/** Finds the stored entries that a message claims, if they exist and have the same content. */
function findClaimedEntries<Foreign extends JsonMap>(
  message: Foreign,
  { context, precedingEntries }: ReadPosition,
  dialect: Dialect<Foreign>,
): readonly EntryBody[] | undefined {
  const ids = listClaimedIds(dialect.readMarker(message))
  const storedEntries = ids.map(id => context.find?.(id)).filter(entry => entry?.thread_id === context.thread_id)
  const claimedEntries = storedEntries.filter(entry => entry !== undefined)
  if (claimedEntries.length === 0 || claimedEntries.length !== ids.length) return undefined
  const renderedMessages = writeMessages(claimedEntries, dialect, { marker: 'none', precedingEntries })
  const [renderedMessage] = renderedMessages
  return renderedMessage && renderedMessages.length === 1 && isSameMessage(message, renderedMessage, dialect)
    ? claimedEntries
    : undefined
}

function isSameMessage<Foreign extends JsonMap>(
  message: Foreign,
  rendered: Foreign,
  dialect: Dialect<Foreign>,
): boolean {
  const [renderedHash, messageHash] = [rendered, dialect.stripMarker(message)].map(message =>
    hashContent(dialect.comparableMembersOf(message)),
  )
  return renderedHash === messageHash
}

function readNewEntries<Foreign extends JsonMap>(
  message: Foreign,
  reading: ReadPosition,
  dialect: Dialect<Foreign>,
  droppedMembers: JsonMap | undefined,
): readonly EntryBody[] {
  const bodies = completeDrafts(dialect.toDrafts(message, reading), reading.context)
  const diff = { ...diffMessage(bodies, message, dialect), ...(droppedMembers && { dropped: droppedMembers }) }
  const [head, ...furtherEntries] = bodies
  return [{ ...head, ext: { [dialect.format]: diff } } as EntryBody, ...furtherEntries]
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
    // A member without a value does not replace the member of the context.
    ...presentMembers(draft),
  }))
  return bodies as unknown as EntryRun
}

/** Writes entries as messages of the dialect. */
function writeMessages<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
  options: WriteOptions = {},
): readonly Foreign[] {
  const allEntries = [...(options.precedingEntries ?? []), ...entries]
  const firstIndex = allEntries.length - entries.length
  return splitRuns(entries, dialect).map(({ run, start }) => {
    const end = firstIndex + start
    return writeRun(run, dialect, {
      ...options,
      precedingEntries: allEntries.slice(Math.max(0, end - maxCallDistance), end),
    })
  })
}

function writeRun<Foreign extends JsonMap>(
  run: EntryRun,
  dialect: Dialect<Foreign>,
  { marker = 'foreign', omitsOwnIds = false, precedingEntries }: WriteOptions,
): Foreign {
  const { format } = dialect
  const isOwn = countOwnRun(run, 0, format) === run.length
  const message = dialect.toMessage(run, isOwn ? undefined : precedingEntries)
  const patchedMessage = isOwn ? patchJson(message, run[0].ext?.[format]?.patch) : message
  const messageWithoutOwnId =
    omitsOwnIds && !isOwn ? (dialect.dropOwnId?.(message) ?? message) : (patchedMessage as Foreign)
  const hasMarker = marker === 'all' || (marker === 'foreign' && !isOwn)
  return hasMarker ? dialect.addMarker(messageWithoutOwnId, run) : messageWithoutOwnId
}

/** The entries of one message. */
export type EntryRun = readonly [EntryBody, ...EntryBody[]]

/** Counts the entries that the message at `start` became. Returns 0 if the message is incomplete or belongs to another dialect. */
function countOwnRun(entries: readonly EntryBody[], start: number, format: FormatName): number {
  const head = entries[start]
  const length = head?.ext?.[format]?.of ?? 0
  if (length <= 1) return length
  const run = entries.slice(start, start + length)
  return run.length === length && run.every(({ group_id }) => group_id === head?.entry_id) ? length : 0
}

function splitRuns<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
): readonly { readonly run: EntryRun; readonly start: number }[] {
  const runs: { run: EntryRun; start: number }[] = []
  let start = 0
  while (start < entries.length) {
    const length = countRunAt(entries, start, dialect)
    if (!isInOtherMessage(entries[start], dialect.format)) {
      runs.push({ run: entries.slice(start, start + length) as unknown as EntryRun, start })
    }
    start += length
  }
  return runs
}

function isInOtherMessage(entry: EntryBody | undefined, format: FormatName): boolean {
  return entry?.ext?.[format]?.of === 0
}

function countRunAt<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  start: number,
  dialect: Dialect<Foreign>,
): number {
  if (isInOtherMessage(entries[start], dialect.format)) return 1
  return countOwnRun(entries, start, dialect.format) || countForeignRun(entries, start, dialect)
}

function countCompleteEntries<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
): number {
  let start = 0
  while (start < entries.length) {
    const length = countRunAt(entries, start, dialect)
    if (
      mayContinue(entries, start, dialect.format) ||
      start + (entries[start]?.ext?.[dialect.format]?.of ?? 0) > entries.length
    )
      return start
    start += length
  }
  return start
}

/**
 * Returns true if entries after the end of the list may belong to the same message. Messages of this dialect store their length, so the answer is false.
 */
function mayContinue(entries: readonly EntryBody[], start: number, format: FormatName): boolean {
  return entries.length - start < maxForeignRun && entries[start]?.ext?.[format] === undefined
}

const maxForeignRun = 64

/** Counts the entries of a run from another dialect. The run never includes the first entry of a message of this dialect. */
function countForeignRun<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  start: number,
  dialect: Dialect<Foreign>,
): number {
  const nextEntries = entries.slice(start, start + maxForeignRun)
  const ownRunIndex = nextEntries.findIndex(
    (_, index) => index > 0 && countOwnRun(entries, start + index, dialect.format) > 0,
  )
  return dialect.countMessageEntries(ownRunIndex < 0 ? nextEntries : nextEntries.slice(0, ownRunIndex))
}
