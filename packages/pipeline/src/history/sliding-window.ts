// Chooses a stable head of the thread and its newest turns, within a budget, as the past of an agent.

import type { HistoricalMessage, Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { HistoryPolicy, HistoryView } from '../ports/agent/history-policy.ts'
import type { Entry } from '../ports/records/transcript.ts'
import type { Turns } from './merge-turns.ts'
import { mergeNeighbours } from './merge-turns.ts'
import { quoteNames } from './speaker-names.ts'

export interface SlidingWindowOptions {
  /** Turns at the start of the thread that stay, byte for byte, while the thread grows; half of `maxTurns` at most. Default 2. */
  readonly keepHead?: number
  /** Turns in all. Default 40. */
  readonly maxTurns?: number
  /** UTF-16 code units of text and tool calls in all. Default 48 000. */
  readonly maxChars?: number
}

/**
 * The default policy: a byte-stable head, then the newest turns that fit, same-role neighbours merged
 *. Pure; the turns it returns, given to it again, come back as they are, but for the names of speakers.
 */
export function createSlidingWindowPolicy(options: SlidingWindowOptions = {}): HistoryPolicy {
  const { maxTurns = 40, maxChars = 48_000 } = options
  // The head has half of the turns at most, so that the newest always fit.
  const keepHead = Math.min(options.keepHead ?? 2, Math.floor(maxTurns / 2))
  // A merged turn may consist of several entries, so a few more are read than kept.
  const reach = { head: keepHead * 4 + 1, tail: maxTurns * 2 }
  return {
    reach,
    view: entries => slideWindow(entries, reach, { keepHead, maxTurns, maxChars }),
  }
}

type Window = Required<SlidingWindowOptions>

/**
 * entries → window. The head depends only on the first entries within reach, so it is the same for every length of the
 * thread. Entries on both sides of a gap are never merged.
 */
function slideWindow(entries: readonly Entry[], reach: HistoryPolicy['reach'], window: Window): HistoryView {
  const head = takeHead(closedTurns(entries.slice(0, reach.head)), window)
  const isWhole = entries.length < reach.head + reach.tail
  const later = isWhole ? toTurns(entries).slice(head.length) : toTurns(entries.slice(entries.length - reach.tail))
  const tail = takeTail(later, head, window)
  const turns = tail.length > 0 || later.length === 0 ? [...head, ...tail] : endWithAgent(head)
  const hasHead = head.length > 0 && turns.length >= head.length
  return { turns, ...(hasHead && { cacheBreakpointAfter: head.length - 1 }) }
}

/** entries → pair repair → alternation. */
function toTurns(entries: readonly Entry[]): Turns {
  const turns = entries.map(toTurn).filter(({ parts }) => parts.length > 0)
  return mergeNeighbours(turns).map(turn => ({ ...turn, parts: dropRepeatedCalls(turn.parts) }))
}

function toTurn({ entryId, nativeId, role, author, parts, at, via }: Entry): HistoricalMessage {
  const settled = parts.filter(isSettled)
  const said = role === 'user' ? settled.map(quoteNames) : settled
  return { id: nativeId ?? entryId, role, sender: author, parts: said, timestamp: at, ...(via && { via }) }
}

/** A model must not rely on a tool call without an end: only ended calls are history. */
function isSettled(part: Part): boolean {
  return part.kind !== 'tool_call' || part.result !== undefined || part.error !== undefined
}

/** Within one turn the last state of a tool call counts. */
function dropRepeatedCalls(parts: readonly Part[]): Part[] {
  const last = new Map(parts.filter(part => part.kind === 'tool_call').map(call => [call.id, call]))
  return parts.filter(part => part.kind !== 'tool_call' || last.get(part.id) === part)
}

/** A turn is closed, and may join the head, once the other side has spoken after it: nothing is merged into it then. */
function closedTurns(entries: readonly Entry[]): Turns {
  return toTurns(entries).slice(0, -1)
}

/** Drops a question at the end: when its answer did not fit, the question alone would look unanswered. */
function endWithAgent(turns: Turns): Turns {
  return turns.at(-1)?.role === 'user' ? turns.slice(0, -1) : turns
}

/** Depends on the first turns alone, so it never changes while the thread grows; at most half of the budget. */
function takeHead(turns: Turns, { keepHead, maxChars }: Window): Turns {
  let remainingChars = Math.floor(maxChars / 2)
  const end = turns.findIndex(turn => {
    remainingChars -= lengthOf(turn)
    return remainingChars < 0
  })
  return turns.slice(0, Math.min(keepHead, end < 0 ? turns.length : end))
}

function takeTail(laterTurns: Turns, head: Turns, { maxTurns, maxChars }: Window): Turns {
  let remainingChars = maxChars - head.reduce((sum, turn) => sum + lengthOf(turn), 0)
  let start = laterTurns.length
  while (start > 0 && laterTurns.length - start < maxTurns - head.length) {
    remainingChars -= lengthOf(laterTurns[start - 1] as HistoricalMessage)
    if (remainingChars < 0) break
    start -= 1
  }
  // After a gap the tail must still alternate with the head.
  const tail = laterTurns.slice(start)
  return tail[0]?.role === head.at(-1)?.role ? tail.slice(1) : tail
}

/** Text and tool calls count; files are only named in a prompt. */
function lengthOf({ parts }: HistoricalMessage): number {
  const calls = parts.filter(part => part.kind === 'tool_call')
  return calls.reduce((sum, call) => sum + JSON.stringify(call).length, plainTextOf(parts).length)
}
