// Measures appending to and reading from a conversation of up to a million entries.
import { randomBytes } from 'node:crypto'
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { EntryBody, FormatName, ThreadKey, TranscriptStore } from '@postern/transcript'
import { codecs, contentOfText, formatNames } from '@postern/transcript'
import { measureInterleaved } from '../harness/interleave.ts'
import { median, medianRatio } from '../harness/statistics.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'

const title = 'Transcript'
const marks = {
  quick: [1_000, 10_000],
  usual: [1_000, 100_000],
  full: [1_000, 100_000, 1_000_000],
} as const
const aim = { atMost: 1.3 } as const
/** The number of entries on a page of a view. */
const page = 50
/** The number of appends, and of reads of each view, in a round. */
const turns = 200
const log = { debug() {}, info() {}, warn() {}, error() {} }

interface StockedStore extends AsyncDisposable {
  readonly mark: number
  readonly transcript: TranscriptStore
  readonly thread: ThreadKey
}

/** The cost of one operation, µs, by its name. */
type Costs = ReadonlyMap<string, number>

/** Measures one more entry and a page of 50 in each dialect, in one conversation that has few or very many entries already. */
export async function probeTranscript({ rounds, quick, full, progress }: ProbeOptions): Promise<readonly Figure[]> {
  using base = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  await using resources = new AsyncDisposableStack()
  const stocks: StockedStore[] = []
  for (const mark of marks[full ? 'full' : quick ? 'quick' : 'usual']) {
    progress(`transcript: storing ${mark} entries`)
    stocks.push(resources.use(await stockThread(base.path, mark)))
  }
  return toFigures(stocks, await measureInterleaved(stocks, { title: 'transcript', rounds, progress }, measure))
}

async function stockThread(base: string, mark: number): Promise<StockedStore> {
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(base, `${mark}.db`),
    now: Date.now,
    log,
  })
  const { transcript } = store
  const thread = await transcript.openThread('web:bench', { transport: 'bench', key: 'long' })
  for (let count = 0; count < mark; count += 1_000) {
    await transcript.append(
      thread,
      Array.from({ length: 1_000 }, (_, index) => makeEntry(thread, count + index)),
    )
  }
  return { mark, transcript, thread, [Symbol.asyncDispose]: store.close }
}

const shapes = [
  { kind: 'text', role: 'user', scope: 'conversation' },
  { kind: 'text', role: 'assistant', scope: 'conversation', agent_key: 'desk' },
  { kind: 'task', role: 'system', scope: 'agent', agent_key: 'worker-1' },
  { kind: 'global_observation', role: 'system', scope: 'global', agent_key: 'worker-2' },
] as const

function makeEntry({ thread_id }: ThreadKey, sequenceNumber: number): EntryBody {
  const shape = shapes[sequenceNumber % shapes.length] ?? shapes[0]
  const content = contentOfText(`Entry ${sequenceNumber}: when does the last train back from the coast leave?`)
  return { entry_id: `entry-${sequenceNumber}`, thread_id, at: '2026-03-13T10:00:00.000Z', content, ...shape }
}

async function measure({ transcript, thread, mark }: StockedStore): Promise<Costs> {
  const costs = new Map<string, number>()
  const time = async (name: string, work: (sequenceNumber: number) => Promise<unknown>) => {
    const cpuBefore = process.cpuUsage()
    for (let sequenceNumber = 0; sequenceNumber < turns; sequenceNumber++) await work(sequenceNumber)
    const { user, system } = process.cpuUsage(cpuBefore)
    costs.set(name, (user + system) / turns)
  }
  for (const format of formatNames) {
    await time(`${format}: append`, number => appendOne(format, { transcript, thread, sequenceNumber: mark + number }))
    await time(`${format}: read ${page}`, async () =>
      codecs[format].write(await transcript.read(thread, { tail: page })),
    )
  }
  for (const [name, range] of Object.entries(views)) {
    await time(`view ${name}: read ${page}`, () => transcript.read(thread, { ...range, tail: page }))
  }
  return costs
}

const views = {
  conversation: { scopes: ['conversation'] },
  agent: { scopes: ['agent'], agent_keys: ['worker-1'] },
  global: { scopes: ['global'] },
  team: { agent_keys: ['worker-1', 'worker-2'] },
  chat: { chat: true },
} as const

/** Appends a message as a client of this dialect does: read, compared with the stored entries, appended. */
async function appendOne(
  format: FormatName,
  {
    transcript,
    thread,
    sequenceNumber,
  }: Pick<StockedStore, 'transcript' | 'thread'> & { readonly sequenceNumber: number },
): Promise<void> {
  const codec = codecs[format]
  const [message] = codec.write([makeEntry(thread, sequenceNumber * shapes.length)], { marker: 'none' })
  const id = randomBytes(8).toString('hex')
  const context = {
    thread_id: thread.thread_id,
    at: '2026-03-13T10:00:00.000Z',
    newId: () => randomBytes(8).toString('hex'),
  }
  const identified = { ...message, ...('id' in (message ?? {}) && { id }) }
  await transcript.append(thread, codec.read([identified], context))
}

/** Computes the figures of every mark; the ratio is to the smallest one, round by round. */
function toFigures(stocks: readonly StockedStore[], costs: readonly (readonly Costs[])[]): readonly Figure[] {
  const [first = []] = costs
  return [...(first[0]?.keys() ?? [])].flatMap(name =>
    stocks.map(({ mark }, index): Figure => {
      const costOf = (round: Costs) => round.get(name) ?? Number.NaN
      const sizeCosts = costs[index] ?? []
      const value = median(sizeCosts.map(costOf))
      const baseline = median(first.map(costOf))
      return {
        case: title,
        name: `${name} of ${mark}`,
        note: `${value.toFixed(0)} µs of CPU, in one thread with ${mark} entries`,
        value,
        unit: 'µs CPU',
        ...(index > 0 && {
          referenceValue: baseline,
          ratio: medianRatio(sizeCosts, first, costOf),
          ratioLabel: '÷ the first',
          aim,
        }),
      }
    }),
  )
}
