import { isoTime, Rejection, type World } from '@postern/core'
import type { Finding } from './codec.ts'
import { codecs } from './codecs.ts'
import { type EntryBody, entryBodySchema } from './entry.ts'
import type { JsonMap } from './json-difference.ts'
import { type FormatName, formatNames } from './kind.ts'
import { formatUuidOf } from './new-id.ts'
import { listClaimed } from './read-known.ts'
import type { ThreadKey, TranscriptStore } from './transcript-store.ts'

/** The five dialects, and the entries themselves (`jsonl`: one a line). */
export const exchangeFormats = [...formatNames, 'jsonl'] as const
export type ExchangeFormat = (typeof exchangeFormats)[number]

export interface Exchange {
  readonly transcript: TranscriptStore
  readonly world: Pick<World, 'now' | 'randomBytes'>
}

/** A whole thread in one format. Every message says which entry it is, so that reading it in again changes nothing. */
export async function exportThread(
  thread: ThreadKey,
  format: ExchangeFormat,
  { transcript }: Pick<Exchange, 'transcript'>,
): Promise<readonly JsonMap[]> {
  const entries = await transcript.read(thread, { is_exact: true })
  return format === 'jsonl' ? (entries as unknown as readonly JsonMap[]) : codecs[format].write(entries, { bag: 'all' })
}

export interface Imported {
  /** Entries that the messages are, whether new or not. */
  readonly entries: number
  readonly added: number
  readonly findings: readonly Finding[]
}

/** How far back a result without an id looks for its call. */
const recent = 64

/**
 * Messages of one format into a thread; those it has already stay as they are. All or nothing.
 * @throws Rejection malformed, naming the message and the member
 */
export async function importThread(
  thread: ThreadKey,
  format: ExchangeFormat,
  messages: readonly unknown[],
  { transcript, world }: Exchange,
): Promise<Imported> {
  const findings: Finding[] = []
  const last = (await transcript.read(thread, { tail: 1 })).at(-1)?.seq ?? 0
  const entries =
    format === 'jsonl'
      ? messages.map((message, index) => readEntryLine(message, index, thread))
      : await readDialect(format, messages, thread, { transcript, world, findings })
  const placed = await transcript.append(thread, entries)
  return { entries: placed.length, added: placed.filter(({ seq }) => seq > last).length, findings }
}

async function readDialect(
  format: FormatName,
  messages: readonly unknown[],
  thread: ThreadKey,
  { transcript, world, findings }: Exchange & { readonly findings: Finding[] },
): Promise<readonly EntryBody[]> {
  const codec = codecs[format]
  const known = await listClaimed(transcript, thread, codec.listClaims(messages))
  return codec.read(messages, {
    thread_id: thread.thread_id,
    at: isoTime(world.now()),
    newId: () => formatUuidOf(world),
    before: await transcript.read(thread, { tail: recent }),
    find: id => known.get(id),
    report: finding => findings.push(finding),
  })
}

function readEntryLine(line: unknown, index: number, { thread_id }: ThreadKey): EntryBody {
  const parsed = entryBodySchema.safeParse(line)
  if (parsed.success) return { ...parsed.data, thread_id }
  const place = parsed.error.issues[0]?.path.join('.') || 'entry'
  throw new Rejection('malformed', `Cannot read entry ${index}: ${place} is not as it must be`)
}
