import { parentPort, workerData } from 'node:worker_threads'
import { toClientConfig } from '../server/address.ts'
import { channelOf, formatSetUp, formatShard } from '../server/session.ts'
import type { PostgresFailure } from './failure.ts'
import { openLine } from './line.ts'
import type { LineEvent, LineThreadData, Question, StatementAnswer } from './messages.ts'
import type { Statement } from './pipelined-run.ts'
import { createExpiredCounter, findExpired, formatPresence, heartbeatCheckMs } from './upkeep/heartbeat.ts'
import { analyzeTable, createStatistics, findOutgrown } from './upkeep/statistics.ts'

// The thread that owns the connections: one for statements, one for hints.

const { server, schema, holder, port, answers } = workerData as LineThreadData
const client = toClientConfig(server)
const statements = new Map<number, Statement>()
const presence = holder === undefined ? [] : [formatPresence(schema, holder)]
const place = formatSetUp(schema)
const setUp = [place, ...presence].join('; ')
const expired = createExpiredCounter()

const emit = (event: LineEvent) => parentPort?.postMessage(event)

const context = openLine({
  client,
  setUp: `${setUp}; ${formatShard(schema)}`,
  onLost: message => emit({ lost: message }),
  onOpen: () => emit({ open: true }),
})
const hints = openLine({
  client,
  // A hint need not be durable.
  setUp: `${setUp}; SET synchronous_commit = off; LISTEN ${channelOf(schema)}`,
  onNotification: payload => emit({ heard: payload }),
  onLost: () => expired.forget(),
})

// From here on nothing is missed that others tell.
void hints.opened.then(() => emit({ listening: true }))

function answer(answered: StatementAnswer): void {
  port.postMessage(answered)
  Atomics.add(answers, 0, 1)
  Atomics.notify(answers, 0)
}

function findStatement({ id, text = '' }: Question['steps'][number]): Statement {
  const known = statements.get(id) ?? { name: `s${id}`, text }
  statements.set(id, known)
  return known
}

port.on('message', ({ id, steps, isAwaited, isBeginning }: Question) => {
  const run = context.run(
    steps.map(step => ({ statement: findStatement(step), values: step.values })),
    isBeginning,
  )
  run.then(
    results => isAwaited && answer({ id, results }),
    (failure: PostgresFailure) => isAwaited && answer({ id, failure }),
  )
})

const notify = { name: 'notify', text: 'SELECT pg_notify($1, $2)' }
let waiting: string[] = []
let isAnnouncing = false

/** Those that come while some are on their way go together. */
async function announce(): Promise<void> {
  if (isAnnouncing) return
  isAnnouncing = true
  while (waiting.length > 0) {
    const payloads = waiting
    waiting = []
    const steps = payloads.map(payload => ({ statement: notify, values: [channelOf(schema), payload] }))
    // A hint may be lost.
    await hints.run(steps, true).catch(() => undefined)
  }
  isAnnouncing = false
}

async function lookForExpired(own: string): Promise<void> {
  const found = await hints.run([{ statement: findExpired, values: [own] }], true).catch(() => undefined)
  const gone = (found?.[0]?.rows ?? []).map(row => String(row.lease_owner))
  for (const each of expired.see(gone)) emit({ expired: each })
}

const statistics = createStatistics()

/** What fails here is tried again later. */
async function refreshStatistics(): Promise<void> {
  const found = await hints.run([{ statement: findOutgrown, values: [schema] }], true).catch(() => undefined)
  const tables = (found?.[0]?.rows ?? []).map(({ name, pages }) => ({ name: String(name), pages: Number(pages) }))
  for (const table of statistics.outdated(tables)) {
    await analyzeTable(table, client, place).catch(() => statistics.forget(table))
  }
}

let isLooking = false
let isAnalyzing = false

/** Looks do not pile up behind one that takes long: each is to show another moment. */
async function look(own: string): Promise<void> {
  if (isLooking) return
  isLooking = true
  await lookForExpired(own)
  isLooking = false
  if (isAnalyzing) return
  isAnalyzing = true
  await refreshStatistics()
  isAnalyzing = false
}

/** Who works looks after the others, and after the tables. */
const looking = holder !== undefined && setInterval(() => void look(holder), heartbeatCheckMs)

parentPort?.on('message', async (message: readonly string[] | 'close') => {
  if (message !== 'close') {
    waiting = [...waiting, ...message]
    return announce()
  }
  if (looking) clearInterval(looking)
  await Promise.allSettled([context.close(), hints.close()])
  process.exit()
})
