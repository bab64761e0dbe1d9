import { isoTime, type Platform, Rejection } from '@postern/core'
import type { CodecFinding } from '../codec/codec.ts'
import { findOrphanEntries } from '../codec/pair-repair.ts'
import { type EntryBody, entryBodySchema, type TranscriptEntry } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import { listClaimed } from '../store/claimed-entries.ts'
import type { ThreadKey, TranscriptStore } from '../store/transcript-store.ts'
import { codecs } from './codecs.ts'
import type { ExchangeFormat } from './formats.ts'
import { createImportIds } from './import-ids.ts'
import { sliceMessages, takeSlices, yieldToEventLoop } from './slices.ts'

interface ThreadExchange {
  readonly transcript: TranscriptStore
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
}

/** How much of a thread is in memory at a time: entries, and their bytes. */
const [pageEntries, pageBytes] = [200, 1024 * 1024]

/** A whole thread in one format, page by page. Every message has a marker of its entry, so that importing it again changes nothing. */
export async function* exportThread(
  thread: ThreadKey,
  format: ExchangeFormat,
  { transcript }: Pick<ThreadExchange, 'transcript'>,
): AsyncGenerator<readonly JsonMap[]> {
  let open: readonly TranscriptEntry[] = []
  for await (const page of readPages(thread, transcript)) {
    const entries = [...open, ...page]
    const end = countWhole(entries, format, page.length === 0)
    yield writeMessages(entries.slice(0, end), format)
    open = entries.slice(end)
  }
}

/** The last page is empty. */
async function* readPages(thread: ThreadKey, transcript: TranscriptStore): AsyncGenerator<readonly TranscriptEntry[]> {
  for (let after_seq = 0; ; ) {
    const range = { after_seq, limit: pageEntries, max_bytes: pageBytes, is_exact: true }
    const page = await transcript.read(thread, range)
    yield page
    const last = page.at(-1)
    if (!last) return
    after_seq = last.seq
    await yieldToEventLoop()
  }
}

/** How many, from the first, are complete messages whatever follows. */
function countWhole(entries: readonly TranscriptEntry[], format: ExchangeFormat, isEnd: boolean): number {
  return isEnd || format === 'jsonl' ? entries.length : codecs[format].countWhole(entries)
}

function writeMessages(entries: readonly TranscriptEntry[], format: ExchangeFormat): readonly JsonMap[] {
  return format === 'jsonl'
    ? (entries as unknown as readonly JsonMap[])
    : codecs[format].write(entries, { marker: 'all' })
}

export interface Imported {
  /** Entries of the messages, new or known. */
  readonly entries: number
  readonly added: number
  readonly findings: readonly CodecFinding[]
}

/** How far back a result without an id looks for its call. */
const recent = 256

/**
 * Imports messages of one format into a thread; known messages stay unchanged. It stores nothing unless it can read all of them. It stores
 * slice by slice, so that other work can run. After an interruption, importing the same messages again completes it. @throws Rejection
 * malformed, naming the message and the member
 */
export async function importThread(
  thread: ThreadKey,
  format: ExchangeFormat,
  messages: readonly unknown[],
  exchange: ThreadExchange,
): Promise<Imported> {
  const { transcript } = exchange
  const findings: CodecFinding[] = []
  const last = (await transcript.read(thread, { tail: 1 })).at(-1)?.seq ?? 0
  const entries = await readMessages(thread, format, messages, { ...exchange, findings })
  let [placed, added] = [0, 0]
  for (const slice of sliceMessages(entries)) {
    const stored = await transcript.append(thread, slice)
    placed += stored.length
    added += stored.filter(({ seq }) => seq > last).length
    await yieldToEventLoop()
  }
  return { entries: placed, added, findings }
}

type Reading = ThreadExchange & { readonly findings: CodecFinding[] }

async function readMessages(
  thread: ThreadKey,
  format: ExchangeFormat,
  messages: readonly unknown[],
  reading: Reading,
): Promise<readonly EntryBody[]> {
  if (format !== 'jsonl') return readDialect(format, messages, thread, reading)
  const entries: EntryBody[] = []
  for await (const { slice, at } of takeSlices(messages)) {
    entries.push(...slice.map((message, index) => readEntryLine(message, at + index, thread)))
  }
  return entries
}

async function readDialect(
  format: FormatName,
  messages: readonly unknown[],
  thread: ThreadKey,
  { transcript, platform, findings }: Reading,
): Promise<readonly EntryBody[]> {
  const codec = codecs[format]
  const places: number[] = []
  const ids = await createImportIds(thread, format, messages)
  const before = await readBefore(thread, ids.first, transcript)
  const entries: EntryBody[] = []
  for await (const { slice, at } of takeSlices(messages)) {
    const known = await listClaimed(transcript, thread, codec.listClaims(slice))
    for (const [index, message] of slice.entries()) {
      const read = codec.read([message], {
        thread_id: thread.thread_id,
        at: isoTime(platform.now()),
        newId: ids.next,
        before: [...before, ...entries.slice(-recent)].slice(-recent),
        find: id => known.get(id),
        report: finding => findings.push({ ...finding, index: at + index }),
      })
      entries.push(...read)
      places.push(...read.map(() => at + index))
    }
  }
  findings.push(...findHalves(before, entries, places))
  return entries
}

/** Calls without a result and results without a call, by the index of their message. They are stored, but no model sees them. */
function findHalves(
  before: readonly EntryBody[],
  entries: readonly EntryBody[],
  places: readonly number[],
): readonly CodecFinding[] {
  return findOrphanEntries([...before, ...entries]).flatMap(finding => {
    const index = places[finding.index - before.length]
    return index === undefined ? [] : [{ ...finding, index }]
  })
}

/** The entries before the messages. After an interrupted import these end before its own entries. */
async function readBefore(
  thread: ThreadKey,
  first: string,
  transcript: TranscriptStore,
): Promise<readonly TranscriptEntry[]> {
  const [begun] = await transcript.find(thread, [first])
  return transcript.read(thread, { tail: recent, ...(begun && { before_seq: begun.seq }) })
}

function readEntryLine(line: unknown, index: number, { thread_id }: ThreadKey): EntryBody {
  const parsed = entryBodySchema.safeParse(line)
  if (parsed.success) return { ...parsed.data, thread_id }
  const place = parsed.error.issues[0]?.path.join('.') || 'entry'
  throw new Rejection('malformed', `Cannot read entry ${index}: ${place} is not as it must be`)
}
