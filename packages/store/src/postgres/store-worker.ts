import { parentPort, workerData } from 'node:worker_threads'
import type { ByteStore, Log } from '@postern/core'
import { Rejection, workKinds } from '@postern/core'
import { assembleStore } from '../assemble.ts'
import { noBlobFiles } from '../engine/blob-files.ts'
import type { Batch } from '../engine/database.ts'
import { createNotices } from '../engine/database.ts'
import { migrations } from '../schema/migrate.ts'
import { readMembers } from '../together/read-members.ts'
import { openBlockingLine } from './connection/blocking-line.ts'
import type { LineEvent } from './connection/messages.ts'
import { openPostgresDatabase } from './database.ts'
import { createHints, noticesOf, ownNoticesOf } from './hints.ts'
import { channelOf } from './server/session.ts'
import { readPostgresUrl } from './server/settings.ts'
import { createTakeover } from './takeover.ts'
import { sendError } from './worker-errors.ts'
import type { ConnectionWorkerData, FromConnectionWorker, Outcome, ToConnectionWorker } from './worker-messages.ts'
import { byteStoreMethods, captureOutcome, createPendingCalls, isFunctionMark } from './worker-messages.ts'

// The thread in which the store works: it may wait for the database without holding up the gateway.

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

function hear(event: LineEvent): void {
  if ('listening' in event) emit({ kind: 'ready', deps: listMethods() })
  else if ('heard' in event) {
    const notice = hints.read(event.heard)
    if (notice) emit({ kind: 'notice', notice })
  } else if ('expired' in event) takeOverFrom(event.expired)
  else if ('lost' in event) {
    if (!isLost) log.error({ reason: event.lost }, 'the database is gone')
    isLost = true
  } else {
    if (!isLost) return
    isLost = false
    log.info({}, 'the database is there again')
    // What was told meanwhile is lost.
    emit({ kind: 'notice', notice: { topic: 'work', payload: workKinds } })
  }
}

function callBack(call: number, at: number): (...args: readonly unknown[]) => Promise<unknown> {
  return (...args) => {
    const { id, promise } = callBacks.add()
    emit({ kind: 'callBack', id, call, at, args })
    return promise
  }
}

const bytes = Object.fromEntries(byteStoreMethods.map((name, at) => [name, callBack(0, at)])) as unknown as ByteStore

const line = openBlockingLine({ server: settings.server, schema: settings.schema, holder }, hear)
const db = openPostgresDatabase(line, {
  schema: settings.schema,
  version: migrations.length,
  onOutdated: () => emit({ kind: 'outdated' }),
  hintsOf: batch => hints.write(noticesOf(batch)).map(payload => [channel, payload] as const),
})
const takeOver = createTakeover(db)

/** Told again, until it is done. */
function takeOverFrom(expired: string): void {
  try {
    const batch = takeOver(expired, time)
    if (!batch) return
    log.warn({ holder: expired }, 'a gateway is gone: its work is taken up')
    emitNotices(batch)
  } catch (error) {
    log.warn({ err: error, holder: expired }, 'a gateway is gone, and its work cannot be taken up now')
  }
}

function emitNotices(batch: Batch): void {
  for (const notice of ownNoticesOf(batch)) emit({ kind: 'notice', notice })
}

const store = assembleStore({
  db,
  transactions: db.transactions,
  files: noBlobFiles,
  notices: createNotices(log),
  now: () => time,
  log,
  channels,
  isAlone: false,
  bytes: hasBytes ? bytes : undefined,
  onDurable: emitNotices,
  rewrite() {
    throw new Rejection('unsupported', "Cannot rewrite: the files are the database server's, whose VACUUM FULL does it")
  },
  release: () => line.close(),
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

function runCall({ id, port, name, args, now }: Call): unknown {
  time = now
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

/** Those of one moment go together. */
function emitAnswers(): void {
  const given = answers
  answers = []
  readMembers(
    given.map(({ outcome }) => ('value' in outcome ? outcome.value : undefined)),
    db.readTogether,
  )
  for (const answer of given) emitAnswer(answer)
}

function emitAnswer({ id, outcome }: (typeof answers)[number]): void {
  try {
    emit({ kind: 'answer', id, outcome })
  } catch (error) {
    emit({ kind: 'answer', id, outcome: { error: sendError(error) } })
  }
}

/** By its name: what changes nothing before it has read may be asked again. */
const isReading = ({ name }: Call) => /^(?:find|has|list|next|read)/.test(name)
let readings: Call[] = []

/** Readings of one moment go together. */
function takeCall(call: Call): void {
  if (!isReading(call)) return void answerCall(call.id, () => runCall(call))
  readings.push(call)
  if (readings.length === 1) setImmediate(answerReadings)
}

function answerReadings(): void {
  const calls = readings
  readings = []
  const outcomes = readAll(calls)
  for (const [at, { id }] of calls.entries()) void answerCall(id, () => outcomes[at])
}

function readAll(calls: readonly Call[]): readonly unknown[] {
  try {
    return db.readTogether(calls.map(call => async () => runCall(call)))
  } catch (error) {
    return calls.map(() => Promise.reject(error))
  }
}

parentPort?.on('message', (message: ToConnectionWorker) => {
  if (message.kind === 'call') takeCall(message)
  else if (message.kind === 'returned') callBacks.settle(message.id, message.outcome)
  else line.announce(hints.write([message.notice]))
})

function listMethods(): Readonly<Record<string, readonly string[]>> {
  const namesOf = (port: Methods) => Object.keys(port).filter(name => typeof port[name] === 'function')
  return Object.fromEntries(Object.entries(deps).map(([name, port]) => [name, namesOf(port)]))
}
