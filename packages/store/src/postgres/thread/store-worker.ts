import { parentPort, workerData } from 'node:worker_threads'
import type { ByteStore, Log } from '@postern/core'
import { Rejection, workKinds } from '@postern/core'
import { assembleStore } from '../../assemble.ts'
import { noBlobFiles } from '../../engine/blob-files.ts'
import type { Batch } from '../../engine/database.ts'
import { createNotices } from '../../engine/database.ts'
import type { Writer } from '../../engine/writer.ts'
import { migrations } from '../../schema/migrate.ts'
import { listUnreadMembers } from '../../together/read-members.ts'
import { openHintLine } from '../connection/hint-line.ts'
import { openLinePool } from '../connection/pool.ts'
import { formatPresence } from '../connection/upkeep/heartbeat.ts'
import { openPostgresDatabase } from '../database.ts'
import { createHints, noticesOf, ownNoticesOf } from '../hints.ts'
import { toClientConfig } from '../server/address.ts'
import { channelOf, formatSetUp, formatShard } from '../server/session.ts'
import { readPostgresUrl } from '../server/settings.ts'
import { createTakeover } from '../takeover.ts'
import { sendError } from './worker-errors.ts'
import type { ConnectionWorkerData, FromConnectionWorker, Outcome, ToConnectionWorker } from './worker-messages.ts'
import { byteStoreMethods, captureOutcome, createPendingCalls, isFunctionMark } from './worker-messages.ts'

// The thread in which the store works: it runs operations again with each answer of the server, which is no work for the gateway's own thread.

const { url, now: openedAt, channels, hasBytes, holder } = workerData as ConnectionWorkerData
const settings = readPostgresUrl(url)
const channel = channelOf(settings.schema)
const hints = createHints()
const callBacks = createPendingCalls()
/** Told with every call: here the clock of the gateway cannot be asked. */
let time = openedAt

const emit = (message: FromConnectionWorker) => parentPort?.postMessage(message)

const log: Log = {
  debug: (fields, text) => writeLog('debug', fields, text),
  info: (fields, text) => writeLog('info', fields, text),
  warn: (fields, text) => writeLog('warn', fields, text),
  error: (fields, text) => writeLog('error', fields, text),
}

function writeLog(level: keyof Log, fields: Parameters<Log['info']>[0], text: string): void {
  const { err, ...rest } = fields as { readonly err?: unknown }
  emit({ kind: 'log', level, fields: err === undefined ? rest : { ...rest, err: sendError(err) }, text })
}

let isLost = false

function noteLost(reason: string): void {
  if (!isLost) log.error({ reason }, 'the database is gone')
  isLost = true
}

function noteOpen(): void {
  if (!isLost) return
  isLost = false
  log.info({}, 'the database is there again')
  // What was told meanwhile is lost.
  emit({ kind: 'notice', notice: { topic: 'work', payload: workKinds } })
}

function hear(payload: string): void {
  const notice = hints.read(payload)
  if (notice) emit({ kind: 'notice', notice })
}

function callBack(call: number, at: number): (...args: readonly unknown[]) => Promise<unknown> {
  return (...args) => {
    const { id, promise } = callBacks.add()
    emit({ kind: 'callBack', id, call, at, args })
    return promise
  }
}

const bytes = Object.fromEntries(byteStoreMethods.map((name, at) => [name, callBack(0, at)])) as unknown as ByteStore

const { schema } = settings
const client = toClientConfig(settings.server)
const place = formatSetUp(schema)
const setUp = [place, ...(holder === undefined ? [] : [formatPresence(schema, holder)])].join('; ')
const pool = openLinePool({
  client,
  setUp: `${setUp}; ${formatShard(schema)}`,
  onLost: noteLost,
  onOpen: noteOpen,
})
const hintLine = openHintLine({ client, schema, holder, setUp, place, onHeard: hear, onExpired: takeOverFrom })
const db = openPostgresDatabase(pool, {
  schema,
  now: () => time,
  version: migrations.length,
  onOutdated: () => emit({ kind: 'outdated' }),
  hintsOf: batch => hints.write(noticesOf(batch)).map(payload => [channel, payload] as const),
})
const takeOver = createTakeover(db)
let writer: Writer | undefined

/** Told again, until it is done. */
async function takeOverFrom(expired: string): Promise<void> {
  try {
    const isDone = await writer?.writeLightly(takeOver(expired, time))
    if (isDone) log.warn({ holder: expired }, 'a gateway is gone: its work is taken up')
  } catch (error) {
    log.warn({ err: error, holder: expired }, 'a gateway is gone, and its work cannot be taken up now')
  }
}

function emitNotices(batch: Batch): void {
  for (const notice of ownNoticesOf(batch)) emit({ kind: 'notice', notice })
}

const store = assembleStore({
  db,
  openWriter(hooks) {
    writer = db.openWriter(hooks)
    return writer
  },
  files: noBlobFiles,
  notices: createNotices(log),
  now: db.now,
  log,
  channels,
  isAlone: false,
  bytes: hasBytes ? bytes : undefined,
  onDurable: emitNotices,
  rewrite() {
    throw new Rejection('unsupported', "Cannot rewrite: the files are the database server's, whose VACUUM FULL does it")
  },
  async release() {
    await Promise.all([pool.close(), hintLine.close()])
  },
})

type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>

const methods = store as unknown as Methods
const inner = Object.entries(store).filter(([, member]) => typeof member === 'object') as unknown as [string, Methods][]
const deps: Readonly<Record<string, Methods>> = { store: methods, ...Object.fromEntries(inner) }

function callMethod(port: string, name: string, args: readonly unknown[]): unknown {
  const methods = deps[port]
  if (!methods?.[name]) throw new Error(`the store has no method ${port}.${name}`)
  return methods[name](...args)
}

type Call = Extract<ToConnectionWorker, { kind: 'call' }>

function runCall({ id, port, name, args }: Call): unknown {
  return callMethod(
    port,
    name,
    args.map(arg => (isFunctionMark(arg) ? callBack(id, arg.functionAt) : arg)),
  )
}

async function answerCall(id: number, work: () => unknown): Promise<void> {
  const outcome = await captureOutcome(work)
  answers.push({ id, outcome })
  if (answers.length === 1) setImmediate(emitAnswers)
}

let answers: { readonly id: number; readonly outcome: Outcome }[] = []

type Answer = (typeof answers)[number]

interface LateAnswer {
  readonly answer: Answer
  readonly unread: readonly (() => unknown)[]
}

/** Those of one moment go together. Whose members have to be read before goes later, and keeps nobody else waiting. */
function emitAnswers(): void {
  const given = answers
  answers = []
  const late: LateAnswer[] = []
  for (const answer of given) {
    const unread = 'value' in answer.outcome ? listUnreadMembers(answer.outcome.value) : []
    if (unread.length === 0) emitAnswer(answer)
    else late.push({ answer, unread })
  }
  if (late.length > 0) void emitLate(late)
}

async function emitLate(late: readonly LateAnswer[]): Promise<void> {
  const ends = await db.readEach(late.flatMap(({ unread }) => unread.map(read => async () => read())))
  let at = 0
  for (const { answer, unread } of late) {
    const own = ends.slice(at, at + unread.length)
    at += unread.length
    const outcome = await captureOutcome(() => Promise.all(own))
    emitAnswer('error' in outcome ? { id: answer.id, outcome } : answer)
  }
}

function emitAnswer({ id, outcome }: (typeof answers)[number]): void {
  try {
    emit({ kind: 'answer', id, outcome })
  } catch (error) {
    emit({ kind: 'answer', id, outcome: { error: sendError(error) } })
  }
}

/** By its name: it waits for nothing but answers. */
const isReading = ({ name }: Call) => /^(?:find|has|list|next|read)/.test(name)
let readings: Call[] = []

/** Readings of one moment go together. */
function takeCall(call: Call): void {
  time = call.now
  if (!isReading(call)) return void answerAll([call])
  readings.push(call)
  if (readings.length === 1) setImmediate(answerReadings)
}

function answerReadings(): void {
  const calls = readings
  readings = []
  void answerAll(calls)
}

async function answerAll(calls: readonly Call[]): Promise<void> {
  const outcomes = await db.readEach(calls.map(call => async () => runCall(call)))
  for (const [at, { id }] of calls.entries()) void answerCall(id, () => outcomes[at])
}

// From here on nothing is missed that others tell.
void hintLine.opened.then(() => emit({ kind: 'ready', deps: listMethods() }))

parentPort?.on('message', (message: ToConnectionWorker) => {
  if (message.kind === 'call') takeCall(message)
  else if (message.kind === 'returned') callBacks.settle(message.id, message.outcome)
  else hintLine.announce(hints.write([message.notice]))
})

function listMethods(): Readonly<Record<string, readonly string[]>> {
  const namesOf = (port: Methods) => Object.keys(port).filter(name => typeof port[name] === 'function')
  return Object.fromEntries(Object.entries(deps).map(([name, port]) => [name, namesOf(port)]))
}
