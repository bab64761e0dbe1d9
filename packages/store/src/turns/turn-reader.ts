import type { LeaseRequest, Turn, TurnAttempt, TurnTaker, WorkStore } from '@postern/core'
import { mergeMessages } from '@postern/core'
import type { Batch, Database, Ownership } from '../engine/database.ts'
import { formatJson, parseJson, prepareQuery } from '../engine/database.ts'
import type { MessageDraft, NotedMessage, ReadMessage, StoredMessage } from '../messages/table.ts'
import { isSmall, toStoredFirst } from '../messages/table.ts'
import type { QueuedTurn } from './table.ts'

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

/** The turn of a message that has begun its thread, leased as it is inserted. */
function toFirstTurn({ number, ...stored }: StoredMessage): Turn {
  return { message: number, token: 1, attempt: 1, crashes: 0, ...stored, isFirst: true }
}

interface TurnRow extends TakenTurn {
  readonly merged_into: number | null
}

/** Reads a turn without taking it. Of one that was answered together with a later one there is none. */
export function createTurnReader(db: Database, tables: TurnReaderDeps): (message: number) => Turn | undefined {
  const find = prepareQuery<TurnRow>(
    db,
    'SELECT message, lease_token, attempt, crash_count, revision, merged_into FROM turns WHERE message = ?',
  )
  const listMerged = prepareQuery<{ message: number }>(
    db,
    'SELECT message FROM turns WHERE merged_into = ? ORDER BY message',
  )
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

/** Turns for the worker of this process: those of new messages need no lease of their own. */
export interface TurnOffer extends Pick<WorkStore, 'offerTurns'> {
  /** Whether the turn of a message may bring its lease along. `thread`: where it belongs; undefined: it begins one. */
  takes(draft: MessageDraft, thread: number | undefined): boolean
  lease(now: number): QueuedTurn['lease']
  /** A turn was inserted with its lease. */
  begin(batch: Batch, draft: MessageDraft, noted: NotedMessage): void
  /** What a worker may lease now: it has begun turns since it asked. */
  limitRequest(request: LeaseRequest): Pick<LeaseRequest, 'limit' | 'shares'>
  /** Turns were leased. */
  hold(batch: Batch, holder: string, turns: readonly Turn[]): readonly Turn[]
  /** To be called when a transaction is durable. */
  tellNew(batch: Batch): Batch
  /** To be called when it was undone. */
  undo(batch: Pick<Batch, 'leasedTurns'>): void
}

export function createTurnOffer({ isAlone }: Ownership): TurnOffer {
  let taker: TurnTaker | undefined
  const isTaker = (holder: string) => taker?.holder === holder

  function offerTurns(offered: TurnTaker): void {
    taker = offered
  }

  function hold(batch: Batch, turn: Turn): void {
    taker?.hold(turn)
    batch.leasedTurns.push(turn)
  }

  return {
    // Others who lease have slots and shares that nobody here knows.
    ...(isAlone && { offerTurns }),
    takes(draft, thread) {
      return thread === undefined && taker !== undefined && isPlain(draft) && taker.hasRoom(draft.intake.agent)
    },
    lease: now => taker && { holder: taker.holder, until: now + taker.leaseMs },
    begin(batch, draft, noted) {
      const turn = toFirstTurn(toStoredFirst(draft, noted))
      hold(batch, turn)
      batch.newTurns.push(turn)
    },
    limitRequest: request => (taker && isTaker(request.holder) ? taker.lookForAll() : request),
    hold(batch, holder, turns) {
      if (isTaker(holder)) for (const turn of turns) hold(batch, turn)
      return turns
    },
    tellNew(batch) {
      for (const turn of batch.newTurns) taker?.begin(turn)
      return batch
    },
    undo({ leasedTurns }) {
      for (const turn of leasedTurns) taker?.letGo(turn)
    },
  }
}

/** Its turn has no queue mode, and the message is at hand. */
function isPlain(draft: MessageDraft): boolean {
  const { message, thread } = draft.intake
  return (message.kind ?? 'message') === 'message' && !thread.joined && !draft.lane && isSmall(draft)
}
