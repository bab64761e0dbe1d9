import type { Entry } from './desk.ts'
import type { HistoricalMessage } from './message.ts'
import type { Part } from './part.ts'
import { plainTextOf } from './part.ts'

/** What an agent is given of the past. */
export interface HistoryView {
  /** Oldest first, roles alternating, ending with the agent's own turn. */
  readonly turns: readonly HistoricalMessage[]
  /** Index of the last turn of the stable head, where a prompt cache may break; absent while there is no closed head. */
  readonly cacheBreakpointAfter?: number | undefined
}

export interface HistoryPolicy {
  /** How much of a thread has to be read for this policy. */
  readonly reach: { readonly head: number; readonly tail: number }
  /** Pure. */
  view(entries: readonly Entry[]): HistoryView
}

export interface SlidingWindowOptions {
  /** Turns at the start of the thread that stay, byte for byte, while the thread grows. Default 2. */
  readonly keepHead?: number
  /** Turns in all. Default 40. */
  readonly maxTurns?: number
  /** UTF-16 code units of text in all. Default 48 000. */
  readonly maxChars?: number
}

/**
 * The default policy: a byte-stable head, then the newest turns that fit, same-role neighbours merged
 * (`contract.md`, History). Pure, and idempotent on what it returns.
 */
export function createSlidingWindowPolicy(options: SlidingWindowOptions = {}): HistoryPolicy {
  const { keepHead = 2, maxTurns = 40, maxChars = 48_000 } = options
  return {
    // A merged turn may be made of several entries: read some more than are kept.
    reach: { head: keepHead * 4 + 1, tail: maxTurns * 2 },
    view: entries => slideWindow(toTurns(entries), { keepHead, maxTurns, maxChars }),
  }
}

type Window = Required<SlidingWindowOptions>

/** entries → pair repair → alternation. */
function toTurns(entries: readonly Entry[]): readonly HistoricalMessage[] {
  const ordered = [...entries].sort((left, right) => left.seq - right.seq)
  return mergeNeighbours(ordered.map(toTurn).filter(turn => turn.parts.length > 0))
}

function toTurn({ entryId, nativeId, role, author, parts, at }: Entry): HistoricalMessage {
  return { id: nativeId ?? entryId, role, sender: author, parts: repairPairs(parts), timestamp: at }
}

/** A tool call whose end was never seen tells a model nothing it may rely on: only ended calls are history. */
function repairPairs(parts: readonly Part[]): Part[] {
  const ended = new Map<string, Part>()
  for (const part of parts) {
    if (part.kind === 'tool_call' && (part.result !== undefined || part.error)) ended.set(part.id, part)
  }
  return parts.filter(part => part.kind !== 'tool_call' || ended.get(part.id) === part)
}

function mergeNeighbours(turns: readonly HistoricalMessage[]): readonly HistoricalMessage[] {
  const merged: HistoricalMessage[] = []
  for (const turn of turns) {
    const last = merged.at(-1)
    if (last?.role === turn.role) merged[merged.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] }
    else merged.push(turn)
  }
  return merged
}

/** turns → window. A turn is closed, and may join the head, once the other side has spoken after it. */
function slideWindow(turns: readonly HistoricalMessage[], window: Window): HistoryView {
  const closed = turns.at(-1)?.role === 'user' ? turns.slice(0, -1) : turns
  const head = takeHead(closed, window)
  const tail = takeTail(closed.slice(head.length), head, window)
  const isClosed = head.length > 0 && head.length < turns.length
  return { turns: [...head, ...tail], ...(isClosed && { cacheBreakpointAfter: head.length - 1 }) }
}

/** Depends on the first turns alone, so it never changes while the thread grows; at most half of the budget. */
function takeHead(
  turns: readonly HistoricalMessage[],
  { keepHead, maxTurns, maxChars }: Window,
): readonly HistoricalMessage[] {
  const head: HistoricalMessage[] = []
  let room = Math.floor(maxChars / 2)
  for (const turn of turns.slice(0, Math.min(keepHead, maxTurns))) {
    room -= lengthOf(turn)
    if (room < 0) break
    head.push(turn)
  }
  return head
}

function takeTail(
  rest: readonly HistoricalMessage[],
  head: readonly HistoricalMessage[],
  { maxTurns, maxChars }: Window,
): readonly HistoricalMessage[] {
  let room = maxChars - head.reduce((sum, turn) => sum + lengthOf(turn), 0)
  let start = rest.length
  while (start > 0 && rest.length - start < maxTurns - head.length) {
    room -= lengthOf(rest[start - 1] as HistoricalMessage)
    if (room < 0) break
    start -= 1
  }
  // After a gap the tail must still take turns with the head.
  const tail = rest.slice(start)
  return tail[0]?.role === head.at(-1)?.role ? tail.slice(1) : tail
}

function lengthOf({ parts }: HistoricalMessage): number {
  return plainTextOf(parts).length
}
