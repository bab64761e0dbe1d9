import type { LeaseRequest, Turn, TurnAttempt } from '@postern/core'
import { mergeMessages } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import { addToTotal, formatJson, noteChange, parseJson } from '../engine/database.ts'
import type { QueuePosition, ReadMessage, StoredMessage } from '../messages/table.ts'

interface NewTurn {
  readonly message: number
  readonly agent: string
  readonly thread: number
  readonly task: number | undefined
  readonly now: number
}

/** A turn in its line. */
export interface QueuedTurn extends NewTurn {
  readonly lane?: QueuePosition | undefined
  /** Digest of its authorship: who may change it. */
  readonly words?: string | undefined
  /** Its lease, if it begins at once. It is the first turn of its thread then. */
  readonly lease?: { readonly holder: string; readonly until: number } | undefined
}

export interface TurnQueue {
  queue(batch: Batch, turn: QueuedTurn): void
  /** Of an occasion, on which the agent has spoken already. */
  noteAnswered(batch: Batch, turn: NewTurn): void
}

interface TurnQueueDeps {
  readonly interrupt: Interrupt
  readonly promoteNext: (batch: Batch, thread: number, now: number) => void
}

export function createTurnQueue(db: Sql, { interrupt, promoteNext }: TurnQueueDeps): TurnQueue {
  const insert = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, state, mode, speaker, ready_at, abort_count, authorship, due_at)
     VALUES (?1, ?2, ?3, ?5, 'received', ?6, ?7, ?8, ?9, ?10,
       CASE WHEN EXISTS (SELECT 1 FROM turns WHERE thread_id = ?2 AND ended_at IS NULL) THEN NULL ELSE coalesce(CAST(?8 AS INTEGER), ?4) END)`,
  )
  const insertLeased = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, state, authorship, due_at, lease_owner, lease_token, attempt, crash_count)
     VALUES (?, ?, ?, ?, 'working', ?, ?, ?, 1, 1, 1)`,
  )
  const insertAnswered = db.prepare(
    "INSERT INTO turns (message, thread_id, agent, state, ended_at) VALUES (?, ?, ?, 'answered', ?)",
  )
  return {
    queue(batch, { message, agent, thread, task, now, lane, words, lease }) {
      if (lease) {
        insertLeased.run(message, thread, task ?? null, agent, words ?? null, lease.until, lease.holder)
        addToTotal(batch, 'messages.working')
        noteChange(batch, 'turn', message)
        return
      }
      const broken =
        lane?.mode === 'interrupt' ? interrupt(batch, { thread, task, speaker: lane.speaker }, now) : undefined
      const readyAt = lane?.windowMs ? now + lane.windowMs : null
      const place = [lane?.mode ?? null, lane?.speaker ?? null, readyAt, broken?.aborts ?? 0, words ?? null] as const
      insert.run(message, thread, task ?? null, now, agent, ...place)
      addToTotal(batch, 'messages.received')
      batch.readyWork.add('turns')
      if (broken) promoteNext(batch, thread, now)
    },
    noteAnswered(batch, { message, agent, thread, now }) {
      insertAnswered.run(message, thread, agent, now)
      addToTotal(batch, 'messages.answered')
    },
  }
}

interface Line {
  readonly thread: number
  readonly task: number | undefined
  readonly speaker: string
}

/** Ends the open turns of a speaker for their newer message; undefined when there was none. One that has been broken off often enough runs on. */
export type Interrupt = (batch: Batch, line: Line, now: number) => { readonly aborts: number } | undefined

interface TurnReaderDeps {
  readonly readMessage: ReadMessage
}

/** As it was before the attempt. */
interface TakenTurn {
  readonly message: number
  readonly lease_token: number
  readonly attempt: number
  readonly crash_count: number
  readonly revision: number
}

interface TurnWords {
  /** The earlier messages that it answers, too, oldest first. */
  readonly merged: readonly number[]
  /** Its message, if this has begun its thread and is at hand. */
  readonly first?: StoredMessage | undefined
}

/** A turn as a worker has it. */
export function toTurn({ readMessage }: TurnReaderDeps, due: TakenTurn, { merged, first }: TurnWords): Turn {
  const { message, lease_token: token, attempt, crash_count: crashes, revision } = due
  const { agent, via, content, thread, target, flags, correlationId, task } = first ?? readMessage(message)
  const held = { message, token: token + 1, attempt: attempt + 1, crashes }
  const turn = {
    ...held,
    agent,
    via,
    thread,
    target,
    correlationId,
    task,
    ...(revision > 0 && { revision }),
    ...(first && { isFirst: true }),
  }
  if (merged.length === 0) return { ...turn, content, flags }
  const earlier = merged.map(readMessage)
  return {
    ...turn,
    content: mergeMessages(
      earlier.map(message => message.content),
      content,
    ),
    flags: [...new Set([...earlier.flatMap(message => message.flags), ...flags])],
    merged,
  }
}

interface TurnRow extends TakenTurn {
  readonly merged_into: number | null
}

/** Reads a turn without taking it. Of one that was answered together with a later one there is none. */
export function createTurnReader(db: Sql, tables: TurnReaderDeps): (message: number) => Turn | undefined {
  const find = db.prepare<TurnRow>(
    'SELECT message, lease_token, attempt, crash_count, revision, merged_into FROM turns WHERE message = ?',
  )
  const listMerged = db.prepare<{ message: number }>('SELECT message FROM turns WHERE merged_into = ? ORDER BY message')
  return number => {
    const row = find.get(number)
    if (!row || row.merged_into !== null) return undefined
    const merged = listMerged.all(number).map(({ message }) => message)
    return toTurn(tables, row, { merged })
  }
}

/** Bytes of a turn's attempts from which on the next one takes the place of all that are there: the newest tell why it does not come to its end. */
const fullBytes = 12 * 1024

/** The column `trace` of a turn with one more attempt, as SQL. `added`: of `formatAttempt`, a numbered parameter. */
export function appendAttempt(added: string): string {
  return `CASE WHEN octet_length(coalesce(trace, '')) > ${fullBytes} THEN '' ELSE coalesce(trace, '') END || ${added}`
}

/** One line of JSON; empty for none. */
export function formatAttempt(attempt: TurnAttempt | undefined): string {
  return attempt === undefined ? '' : `${formatJson(attempt)}\n`
}

export function readAttempts(trace: string | null): readonly TurnAttempt[] {
  const lines = trace?.split('\n') ?? []
  return lines.filter(line => line !== '').map(line => parseJson<TurnAttempt>(line))
}

interface ShareTaking<Row> {
  /** What is due, first things first, without these groups. */
  find(full: readonly string[], limit: number): readonly Row[]
  /** As `find`, the first time: with what others have of each group. Absent: they have nothing. */
  findFirst?: ((full: readonly string[]) => readonly [rows: readonly Row[], elsewhere: Counts]) | undefined
  /** Takes it, so that it is not found again. */
  claim(row: Row): void
  /** Undefined: it shares with nobody. */
  groupOf(row: Row): string | null | undefined
  /** Somebody else has it to do with it now: it is found again, for what makes it due tells it, and every worker looks once a second. */
  isBusy?(row: Row): boolean
}

type Counts = ReadonlyMap<string, number>

interface Taken<Row> {
  readonly taken: readonly Row[]
  /** How many were due, with those that are busy. */
  readonly seen: number
  /** What others have of each group. */
  readonly elsewhere: Counts
}

/** Takes what is due, of no group more than its share, in one go however unevenly it is spread. */
export function takeShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  { find, findFirst = full => [find(full, limit), new Map()], claim, groupOf, isBusy = () => false }: ShareTaking<Row>,
): Taken<Row> {
  const { add, isFull, listFull } = countShares(shares)
  const [first, elsewhere] = findFirst(listFull())
  for (const [group, count] of elsewhere) add(group, count)
  const taken: Row[] = []
  let busy = 0
  for (let rows = first, asked = limit; ; ) {
    let isSkipping = false
    for (const row of rows) {
      const group = groupOf(row) ?? undefined
      if (isBusy(row)) {
        busy += 1
        continue
      }
      if (isFull(group)) {
        isSkipping = true
        continue
      }
      add(group, 1)
      claim(row)
      taken.push(row)
    }
    // Fewer rows than were asked for are all there are.
    if (!isSkipping || taken.length >= limit || rows.length < asked)
      return { taken, seen: taken.length + busy, elsewhere }
    asked = limit - taken.length
    rows = find(listFull(), asked)
  }
}

/** How full the share of each group is. */
function countShares(shares: LeaseRequest['shares']) {
  const mostOf = (group: string) => shares?.mostOf?.get(group) ?? shares?.most ?? Number.POSITIVE_INFINITY
  const counts = new Map(shares?.taken)
  const isFull = (group: string | undefined) => group !== undefined && (counts.get(group) ?? 0) >= mostOf(group)
  return {
    isFull,
    add(group: string | undefined, more: number): void {
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + more)
    },
    // A group that may have none is full before it has taken any.
    listFull: () => [...new Set([...counts.keys(), ...(shares?.mostOf?.keys() ?? [])])].filter(isFull),
  }
}
