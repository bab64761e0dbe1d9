// Exports and imports a whole thread in any message format, page by page.
import { createHash } from 'node:crypto'
import type { System } from '@postern/message'
import { isoTime, Rejection } from '@postern/message'
import { aguiCodec } from '../agui/codec.ts'
import type { Codec, CodecFinding } from '../codec/dialect.ts'
import { findOrphanEntries, maxCallDistance } from '../codec/tool-entry.ts'
import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import { entryBodySchema } from '../entry/entry.ts'
import type { ExchangeFormat, FormatName } from '../entry/kind.ts'
import { splitMessages } from '../entry/numbered-entries.ts'
import { envelopeCodec } from '../envelope/codec.ts'
import type { JsonMap } from '../json/difference.ts'
import { formatUuid } from '../json/uuid.ts'
import { normalizedCodec } from '../normalized/codec.ts'
import type { ThreadKey, TranscriptStore } from '../store/transcript-store.ts'
import { listClaimed } from '../store/transcript-store.ts'
import { storeCodec } from '../store-format/codec.ts'
import { swarmCodec } from '../swarm/codec.ts'

interface ThreadExchangeDeps {
  readonly transcript: TranscriptStore
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

/** The limits of the part of a thread that is in memory at a time: the number of entries, and their size in bytes. */
const [pageEntries, pageBytes] = [200, 1024 * 1024]

/** Exports a whole thread in one format, page by page. Every message has a marker of its entry, so that importing it again changes nothing. */
export async function* exportThread(
  thread: ThreadKey,
  format: ExchangeFormat,
  { transcript }: Pick<ThreadExchangeDeps, 'transcript'>,
): AsyncGenerator<readonly JsonMap[]> {
  let [openEntries, precedingEntries]: [readonly TranscriptEntry[], readonly TranscriptEntry[]] = [[], []]
  for await (const page of readPages(thread, transcript)) {
    const entries = [...openEntries, ...page]
    const end = countCompleteEntries(entries, format, page.length === 0)
    yield writeMessages(entries.slice(0, end), precedingEntries, format)
    openEntries = entries.slice(end)
    precedingEntries = [...precedingEntries, ...entries.slice(0, end)].slice(-recentEntries)
  }
}

/** Reads the pages of a thread. The last page is empty. */
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

/** Counts the entries, from the first, that form complete messages regardless of the entries that follow. */
function countCompleteEntries(entries: readonly TranscriptEntry[], format: ExchangeFormat, isEnd: boolean): number {
  return isEnd || format === 'jsonl' ? entries.length : codecs[format].countCompleteEntries(entries)
}

function writeMessages(
  entries: readonly TranscriptEntry[],
  precedingEntries: readonly TranscriptEntry[],
  format: ExchangeFormat,
): readonly JsonMap[] {
  return format === 'jsonl'
    ? (entries as unknown as readonly JsonMap[])
    : codecs[format].write(entries, { marker: 'all', precedingEntries })
}

interface ImportResult {
  /** The number of entries of the messages, including known entries. */
  readonly entries: number
  readonly added: number
  readonly findings: readonly CodecFinding[]
}

/** The number of earlier entries among which a result finds its call. */
const recentEntries = maxCallDistance

/**
 * Imports messages of one format into a thread. Known messages stay unchanged. It stores nothing unless it can read all messages. It stores
 * the entries in slices, so that other work can run. After an interruption, importing the same messages again completes the import. @throws
 * Rejection malformed, naming the message and the member
 */
export async function importThread(
  thread: ThreadKey,
  format: ExchangeFormat,
  messages: readonly unknown[],
  deps: ThreadExchangeDeps,
): Promise<ImportResult> {
  const { transcript } = deps
  const findings: CodecFinding[] = []
  const lastSeq = (await transcript.read(thread, { tail: 1 })).at(-1)?.seq ?? 0
  const entries = await readMessages(thread, format, messages, { ...deps, findings })
  let [count, addedCount] = [0, 0]
  for (const slice of sliceMessages(entries)) {
    const storedEntries = await transcript.append(thread, slice)
    count += storedEntries.length
    addedCount += storedEntries.filter(({ seq }) => seq > lastSeq).length
    await yieldToEventLoop()
  }
  return { entries: count, added: addedCount, findings }
}

type ImportDeps = ThreadExchangeDeps & { readonly findings: CodecFinding[] }

async function readMessages(
  thread: ThreadKey,
  format: ExchangeFormat,
  messages: readonly unknown[],
  deps: ImportDeps,
): Promise<readonly EntryBody[]> {
  if (format !== 'jsonl') return readDialect(format, messages, thread, deps)
  const entries: EntryBody[] = []
  for await (const { slice, startIndex: start } of yieldSlices(messages)) {
    entries.push(...slice.map((message, index) => readEntryLine(message, start + index, thread)))
  }
  return entries
}

async function readDialect(
  format: FormatName,
  messages: readonly unknown[],
  thread: ThreadKey,
  { transcript, system, findings }: ImportDeps,
): Promise<readonly EntryBody[]> {
  const codec = codecs[format]
  const indexes: number[] = []
  const ids = await createImportIds(thread, format, messages)
  const precedingEntries = await readPrecedingEntries(thread, ids.first, transcript)
  const entries: EntryBody[] = []
  for await (const { slice, startIndex: start } of yieldSlices(messages)) {
    const claimedEntries = await listClaimed(transcript, thread, codec.listClaims(slice))
    for (const [index, message] of slice.entries()) {
      const messageEntries = codec.read([message], {
        thread_id: thread.thread_id,
        at: isoTime(system.now()),
        newId: ids.next,
        precedingEntries: [...precedingEntries, ...entries.slice(-recentEntries)].slice(-recentEntries),
        find: id => claimedEntries.get(id),
        report: finding => findings.push({ ...finding, index: start + index }),
      })
      entries.push(...messageEntries)
      indexes.push(...messageEntries.map(() => start + index))
    }
  }
  findings.push(...findOrphans(precedingEntries, entries, indexes))
  return entries
}

/** Finds calls without a result and results without a call, by the index of their message. They are stored, but no model sees them. */
function findOrphans(
  precedingEntries: readonly EntryBody[],
  entries: readonly EntryBody[],
  indexes: readonly number[],
): readonly CodecFinding[] {
  return findOrphanEntries([...precedingEntries, ...entries]).flatMap(finding => {
    const index = indexes[finding.index - precedingEntries.length]
    return index === undefined ? [] : [{ ...finding, index }]
  })
}

/** Reads the entries that precede the messages. After an interrupted import, they end before the entries of that import. */
async function readPrecedingEntries(
  thread: ThreadKey,
  first: string,
  transcript: TranscriptStore,
): Promise<readonly TranscriptEntry[]> {
  const [firstStoredEntry] = await transcript.find(thread, [first])
  return transcript.read(thread, { tail: recentEntries, ...(firstStoredEntry && { before_seq: firstStoredEntry.seq }) })
}

function readEntryLine(line: unknown, index: number, { thread_id }: ThreadKey): EntryBody {
  const parsed = entryBodySchema.safeParse(line)
  if (parsed.success) return { ...parsed.data, thread_id }
  const member = parsed.error.issues[0]?.path.join('.') || 'entry'
  throw new Rejection('malformed', `Cannot read entry ${index}: ${member} is not as it must be`)
}

/** The five dialects of the transcript, by name. */
export const codecs: Readonly<Record<FormatName, Codec<JsonMap>>> = {
  envelope: envelopeCodec,
  agui: aguiCodec,
  store: storeCodec,
  swarm: swarmCodec,
  normalized: normalizedCodec,
}

/** Creates the ids for entries of an import. The same messages in the same thread get the same ids, so that a repeated import finds its entries. */
async function createImportIds({ thread_id }: ThreadKey, format: string, messages: readonly unknown[]) {
  const content = createHash('sha256').update(JSON.stringify([thread_id, format]))
  for await (const { slice } of yieldSlices(messages)) content.update(JSON.stringify(slice))
  const seed = content.digest('hex')
  const idOf = (count: number) => formatUuid(createHash('sha256').update(`${seed} ${count}`).digest('hex').slice(0, 32))
  let count = 0
  return {
    /** The first result of `next`. */
    first: idOf(0),
    next() {
      count += 1
      return idOf(count - 1)
    },
  }
}

/** Lets other work run. */
function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** The number of entries in one slice, which takes some milliseconds. */
const sliceSize = 100

/** Yields a list in slices, with pauses for other work. `at` is the index of the first item of a slice. */
async function* yieldSlices<Item>(
  items: readonly Item[],
): AsyncGenerator<{ readonly slice: readonly Item[]; readonly startIndex: number }> {
  for (let start = 0; start < items.length; start += sliceSize) {
    yield { slice: items.slice(start, start + sliceSize), startIndex: start }
    await yieldToEventLoop()
  }
}

/** Splits entries into slices that end with a complete message. */
function sliceMessages(entries: readonly EntryBody[]): readonly (readonly EntryBody[])[] {
  const slices: EntryBody[][] = []
  for (const message of splitMessages(entries)) {
    const last = slices.at(-1)
    if (last && last.length < sliceSize) last.push(...message)
    else slices.push([...message])
  }
  return slices
}
