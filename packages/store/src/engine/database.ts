import { DatabaseSync } from 'node:sqlite'
import type {
  ChangeKind,
  ChannelName,
  DeliveryRecord,
  Intake,
  Log,
  MessageState,
  NoticeStore,
  SettledTask,
  StopFlag,
  TaskRecord,
  WorkKind,
} from '@postern/core'
import { LeaseLost, parseJsonText } from '@postern/core'

export type SqlValue = null | number | string | Uint8Array

/** A prepared statement and the shape of the rows it yields. */
export interface Query<Row = unknown> {
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
  run(...values: SqlValue[]): { readonly changes: number }
}

/**
 * What the store asks of an engine. `node:sqlite` is one as it is: statements run at once, within this process. Where the server is far, a statement
 * is run within an operation (of the writer, or of `read`), which is run again with each answer.
 */
export interface Database {
  prepare(sql: string): {
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
    run(...values: SqlValue[]): unknown
  }
  /** Reads at one moment; absent: statements run at once. */
  read?<T>(reading: () => T): Promise<T>
  /** Within an operation: runs readings, each as if it were alone; absent: one after another. */
  readTogether?<T>(readings: readonly (() => T)[]): readonly T[]
  /** Where several processes write at a time: takes a statement that says `is_so`. Whoever runs it undoes a transaction in which that is not so. */
  prepareCheck?(sql: string): (...values: SqlValue[]) => void
  /** Where the server is far: as `prepareTold`. */
  prepareTold?(sql: string): (...values: SqlValue[]) => () => unknown
  /** Where several processes write at a time: how a statement takes rows for itself. */
  readonly rowLocks?: RowLocks
  /** What runs an INSERT tells its `lastInsertRowid`. */
  readonly knowsLastInsert?: boolean
}

/**
 * A database of which each statement says the shape of its rows. Prepare once what is run often. `LIMIT +?`, never `LIMIT ?`, and of messages
 * `via IN (?)`, never `via = ?`: SQLite compiles a statement anew at every run whose plan might be another one for another value, such as for the
 * `via` of a partial index.
 */
export interface Sql extends Omit<Database, 'prepare'> {
  prepare<Row = unknown>(sql: string): Query<Row>
}

/** The same database: an engine knows nothing of the shape of its rows. */
export function sqlOf(db: Database): Sql {
  return db as unknown as Sql
}

/** A file of SQLite. */
export interface FileDatabase extends Database {
  exec(sql: string): void
  /** Whether a transaction has begun that is neither committed nor undone. */
  readonly isTransaction: boolean
  close(): void
}

/** Parts of SQL. */
interface RowLocks {
  /** Behind a SELECT: its rows are nobody else's until the end of the transaction. Those that somebody else has are left out. */
  readonly skipLocked: string
  /** Behind a SELECT: waits for who has its rows. */
  readonly wait: string
  /** Whether nobody else touches the thread of this number now; then nobody does until the end of the transaction. */
  isFree(thread: string): string
}

/** Where this process alone writes. */
const noRowLocks: RowLocks = { skipLocked: '', wait: '', isFree: () => '1' }

export function rowLocksOf(db: Database): RowLocks {
  return db.rowLocks ?? noRowLocks
}

/** @returns what does nothing where this process alone writes */
export function prepareCheck(db: Database, sql: string): (...values: SqlValue[]) => void {
  return db.prepareCheck?.(sql) ?? (() => {})
}

/**
 * Prepares an INSERT of one row, which tells what `id` it has been given. SQLite knows its last one by itself: for RETURNING it makes a table of
 * its own at every run, which costs as much as the row.
 */
export function prepareInsert(db: Database, sql: string, id = 'id'): (...values: SqlValue[]) => number {
  if (db instanceof DatabaseSync || db.knowsLastInsert) {
    const insert = db.prepare(sql)
    return (...values) => Number((insert.run(...values) as { readonly lastInsertRowid: number }).lastInsertRowid)
  }
  const insert = sqlOf(db).prepare<{ id: number }>(`${sql} RETURNING ${id} AS id`)
  return (...values) => {
    const row = insert.get(...values)
    if (!row) throw new Error('nothing was inserted')
    return row.id
  }
}

/** @throws LeaseLost when the statement that compared the token changed nothing */
export function refuseLostLease(changes: number, work: string): void {
  if (changes === 0) throw new LeaseLost(`the lease of ${work} is held by somebody else or its work is over`)
}

/** What a method of the store reads after it has waited for something: by then it is an operation of its own. */
export function readAfterWait<T>(db: Database, reading: () => T): T | Promise<T> {
  return db.read ? db.read(reading) : reading()
}

/** Prepares what changes one row and tells what has become of it, which may be looked at once the transaction is over: few ask before. */
export function prepareTold<Row>(db: Database, sql: string): (...values: SqlValue[]) => () => Row | undefined {
  if (db.prepareTold) return db.prepareTold(sql) as ReturnType<typeof prepareTold<Row>>
  const statement = sqlOf(db).prepare<Row>(sql)
  return (...values) => {
    const row = statement.get(...values)
    return () => row
  }
}

/** Readings of many things of one kind: where the database is far, they share the ways to it. */
export function readTogether<Readings extends readonly (() => unknown)[]>(
  db: Database,
  readings: readonly [...Readings],
): { readonly [At in keyof Readings]: ReturnType<Readings[At]> } {
  const values = db.readTogether ? db.readTogether(readings) : readings.map(read => read())
  return values as { readonly [At in keyof Readings]: ReturnType<Readings[At]> }
}

export function parseJson<T>(text: string): T {
  return parseJsonText(text) as T
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value ?? null)
}

/** Whether this process alone writes the database: only then may it remember what is there. */
export interface Ownership {
  readonly isAlone: boolean
}

/** Operations of one transaction at most. */
export const mostAtOnce = 256

export type CounterName =
  | `messages.${MessageState}`
  | `deliveries.${DeliveryRecord['state']}`
  | `stopped.${StopFlag}`
  | 'refusals'

export interface Notice {
  readonly topic: string
  readonly payload: unknown
}

/** A notice, and the task of a turn that has ended, which is known once the transaction is over. */
interface LeftNotice extends Notice {
  readonly readTask?: (() => TaskRecord | undefined) | undefined
}

/** How the task of a turn that has ended is told. */
type TellTask = (readTask: () => TaskRecord | undefined) => SettledTask | undefined

/** Of which more may be read. */
export const tellWholeTask: TellTask = readTask => readTask()

interface TaskTotal {
  readonly bytes: number
  readonly tasks: number
}

/** A message that has begun its thread: what its rows have of it, and the bytes it came in. */
export interface FirstMessage {
  readonly agent: string
  readonly channel: ChannelName
  readonly thread_id: number
  readonly key: string
  readonly envelope: string
  readonly content: string
  readonly flags: string | null
  readonly target: string
  readonly correlation_id: string
  readonly owner: string | null
  readonly native_id: string | null
  readonly raw: Intake['raw']
}

/** What one transaction leaves behind beside its rows: totals to book before it ends, notices to give after it. */
export interface Batch {
  readonly totals: Map<CounterName, number>
  /** What came to the tasks of an owner and went from them, bytes, and how many tasks are new. */
  readonly taskTotals: Map<string, TaskTotal>
  readonly notices: LeftNotice[]
  /** What may be taken up once it is durable. */
  readonly readyWork: Set<WorkKind>
  /** What an operator sees change: numbers of each kind. */
  readonly changes: Map<ChangeKind, Set<number>>
  /**
   * Messages that have got a turn, by number, with their rows if these are at hand. All operations of a transaction share them, so that a lease finds
   * what was admitted before it.
   */
  readonly firstMessages: Map<number, FirstMessage | undefined>
  /** Done when the transaction is over, however it has ended: lets go of slots that were kept meanwhile. */
  readonly atEnd: (() => void)[]
  /** Done when it was undone. */
  readonly ifUndone: (() => void)[]
  /** Done when nobody knows whether it was written. */
  readonly ifUnsure: (() => void)[]
  /** Done when it is durable: begins work that came with its lease. */
  readonly begins: (() => void)[]
  /** Whether work may come with its lease. */
  readonly leasesNew: boolean
  /** Digests whose files nothing refers to once it is durable. */
  readonly droppedFiles: string[]
  /** Whether other operations run beside this one, here or at other gateways: what it has read may not be so any more when it writes. */
  readonly hasCompany: boolean
  /**
   * To be called before it is read: from here on no other operation, here or at another gateway, touches what `name` names. An operation reserves
   * one name, so that no two can wait for each other; where they do, the transaction is undone and each runs on its own.
   */
  reserve(name: string): void
  /** The operation needs to run alone after all. To be called before it changes anything. */
  standAlone(): void
  /** Decides what depends on more than rows: it stays so if the operation is run again from its start. */
  once<T>(decide: () => T): T
  /**
   * What has to be so when the transaction ends, whatever other gateways have written meanwhile: checks by a name, each behind a lock of its name.
   * An engine where nobody else writes does not look.
   */
  readonly checks: Map<string, () => void>
}

/** What an operation says of itself to those that run beside it; where none does, it matters to nobody. */
type Company = Pick<Batch, 'hasCompany' | 'leasesNew' | 'reserve' | 'standAlone' | 'once'>

const nobody: Company = { hasCompany: false, leasesNew: true, reserve() {}, standAlone() {}, once: decide => decide() }

/** What all operations of a transaction have together. */
type Shared = Pick<Batch, 'firstMessages' | 'atEnd' | 'ifUndone'>

export function createBatch(company = nobody, shared: Shared = openShared()): Batch {
  const { firstMessages, atEnd, ifUndone } = shared
  return {
    ...{ totals: new Map(), taskTotals: new Map(), droppedFiles: [], checks: new Map() },
    ...{ notices: [], readyWork: new Set(), changes: new Map(), begins: [], ifUnsure: [] },
    ...{ firstMessages, atEnd, ifUndone },
    ...company,
  }
}

function openShared(): Shared {
  return { firstMessages: new Map(), atEnd: [], ifUndone: [] }
}

/** To be called when a transaction is durable. */
export function beginWork({ begins, atEnd }: Batch): void {
  for (const each of [...begins, ...atEnd]) each()
}

/** To be called when it was undone. `isUnsure`: it may have been written after all. */
export function undoWork({ ifUndone, ifUnsure, atEnd }: Batch, isUnsure: boolean): void {
  for (const each of [...ifUndone, ...(isUnsure ? ifUnsure : []), ...atEnd]) each()
}

/** Adds what an operation leaves behind to what its transaction does. */
export function mergeBatch(batch: Batch, own: Batch): void {
  for (const [name, check] of own.checks) batch.checks.set(name, check)
  for (const [name, by] of own.totals) addToTotal(batch, name, by)
  for (const [owner, total] of own.taskTotals) addTaskTotal(batch, owner, total)
  for (const kind of own.readyWork) batch.readyWork.add(kind)
  for (const [kind, numbers] of own.changes) for (const number of numbers) noteChange(batch, kind, number)
  batch.notices.push(...own.notices)
  batch.droppedFiles.push(...own.droppedFiles)
  batch.begins.push(...own.begins)
  batch.ifUnsure.push(...own.ifUnsure)
}

/** An operator sees another record of this kind and number from now on. */
export function noteChange({ changes }: Batch, kind: ChangeKind, number: number): void {
  const numbers = changes.get(kind)
  if (numbers) numbers.add(number)
  else changes.set(kind, new Set([number]))
}

type Leaving = Pick<Batch, 'notices' | 'readyWork' | 'changes'>

/** All that is told once a transaction is durable: work that is ready, and changes, once each. Without `tellTask`: whoever waits for a task looks for it. */
export function listNotices({ notices, readyWork, changes }: Leaving, tellTask?: TellTask): readonly Notice[] {
  const changed = Object.fromEntries([...changes].map(([kind, numbers]) => [kind, [...numbers]]))
  return [
    ...notices.map(notice => toNotice(notice, tellTask)),
    ...(readyWork.size > 0 ? [{ topic: 'work', payload: [...readyWork] }] : []),
    ...(changes.size > 0 ? [{ topic: 'changes', payload: changed }] : []),
  ]
}

function toNotice({ topic, payload, readTask }: LeftNotice, tellTask: TellTask | undefined): Notice {
  const task = readTask && tellTask?.(readTask)
  return task ? { topic, payload: { ...(payload as object), task } } : { topic, payload }
}

export function addToTotal({ totals }: Batch, name: CounterName, by = 1): void {
  totals.set(name, (totals.get(name) ?? 0) + by)
}

export function addTaskBytes(batch: Batch, owner: string, by: number): void {
  addTaskTotal(batch, owner, { bytes: by, tasks: 0 })
}

export function addTask(batch: Batch, owner: string): void {
  addTaskTotal(batch, owner, { bytes: 0, tasks: 1 })
}

function addTaskTotal({ taskTotals }: Batch, owner: string, { bytes, tasks }: TaskTotal): void {
  const sum = taskTotals.get(owner)
  taskTotals.set(owner, { bytes: (sum?.bytes ?? 0) + bytes, tasks: (sum?.tasks ?? 0) + tasks })
}

/** Totals in the order in which all transactions write them. */
export function sortByName<Total>(totals: ReadonlyMap<string, Total>): readonly (readonly [string, Total])[] {
  return totals.size > 1 ? [...totals].sort(([one], [other]) => (one < other ? -1 : 1)) : [...totals]
}

export function moveTotal(batch: Batch, from: CounterName, to: CounterName): void {
  if (from === to) return
  addToTotal(batch, from, -1)
  addToTotal(batch, to)
}

export function moveTotals(batch: Batch, count: number, [from, to]: readonly [CounterName, CounterName]): void {
  addToTotal(batch, from, -count)
  addToTotal(batch, to, count)
}

type Listener = (payload: unknown) => void

/** Hints within this process: synchronous, and a listener that throws harms nobody else. */
export function createNotices(log: Log): NoticeStore {
  const topics = new Map<string, Set<Listener>>()

  function forget(topic: string, listener: Listener): void {
    const listeners = topics.get(topic)
    listeners?.delete(listener)
    if (listeners?.size === 0) topics.delete(topic)
  }

  return {
    notify(topic, payload) {
      for (const listener of [...(topics.get(topic) ?? [])]) callListener(listener, payload, log)
    },
    listen(topic, listener) {
      // One function may listen twice; each listening ends on its own.
      const own: Listener = payload => listener(payload)
      const listeners = topics.get(topic) ?? new Set()
      topics.set(topic, listeners.add(own))
      return () => forget(topic, own)
    },
  }
}

function callListener(listener: Listener, payload: unknown, log: Log): void {
  try {
    listener(payload)
  } catch (error) {
    log.error({ err: error }, 'a listener failed')
  }
}
