// Selects a stable head of the thread and its newest turns, within a budget, as the history for an agent.

import type { HistoricalMessage, Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { HistoryPolicy, HistoryView } from '../ports/agent/history-policy.ts'
import type { Entry } from '../ports/records/transcript.ts'
import type { Turns } from './merge-turns.ts'
import { mergeNeighbours, replaceParts } from './merge-turns.ts'
import { quoteSpeakerLines } from './speaker-names.ts'

export interface SlidingWindowOptions {
  /** The number of turns at the start of the thread that stay byte for byte the same while it grows, at most half of `maxTurns`; default 2. */
  readonly keepHead?: number
  /** The maximum number of turns; default 40. */
  readonly maxTurns?: number
  /** The maximum number of UTF-16 code units of text and tool calls; default 48 000. */
  readonly maxChars?: number
}

/**
 * Creates the default policy: a byte-stable head, then the newest turns that fit. Neighbours of one role are merged. The view has no side
 * effects. If it is applied to its own turns, it changes only the names of speakers.
 */
export function createSlidingWindowPolicy(options: SlidingWindowOptions = {}): HistoryPolicy {
  const { maxTurns = 40, maxChars = 48_000 } = options
  // The head gets at most half of the turns, so that there is always room for the newest ones.
  const keepHead = Math.min(options.keepHead ?? 2, Math.floor(maxTurns / 2))
  // Several entries may merge into one turn, so more entries are read than turns are kept.
  const reach = { head: keepHead * 4 + 1, tail: maxTurns * 2 }
  return {
    reach,
    view: entries => slideWindow(entries, reach, { keepHead, maxTurns, maxChars }),
  }
}

type Window = Required<SlidingWindowOptions>

/**
 * Turns entries into the window. The head depends only on the first entries within reach, so it does not change while the thread grows. Entries on
 * both sides of a gap are never merged.
 */
function slideWindow(entries: readonly Entry[], reach: HistoryPolicy['reach'], window: Window): HistoryView {
  const head = selectHead(listClosedTurns(entries.slice(0, reach.head)), window)
  const isWhole = entries.length < reach.head + reach.tail
  const laterTurns = isWhole ? toTurns(entries).slice(head.length) : toTurns(entries.slice(entries.length - reach.tail))
  const tail = selectTail(laterTurns, head, window)
  const turns = tail.length > 0 || laterTurns.length === 0 ? [...head, ...tail] : endWithAgent(head)
  const hasHead = head.length > 0 && turns.length >= head.length
  return { turns, ...(hasHead && { cacheBreakpointAfter: head.length - 1 }) }
}

/** Turns entries into turns: unfinished tool calls are dropped, and neighbours of one role are merged, so that roles alternate. */
function toTurns(entries: readonly Entry[]): Turns {
  const turns = entries.map(toTurn).filter(({ parts }) => parts.length > 0)
  return mergeNeighbours(turns).map(turn => replaceParts(turn, dropRepeatedCalls(turn.parts)))
}

function toTurn({ entryId, nativeId, role, author, parts, at, via }: Entry): HistoricalMessage {
  const completeParts = parts.filter(isComplete)
  const shownParts = role === 'user' ? completeParts.map(quoteSpeakerLines) : completeParts
  return { id: nativeId ?? entryId, role, sender: author, parts: shownParts, timestamp: at, ...(via && { via }) }
}

/** Returns false for a tool call without an end. It stays out of the history, because models expect a result for every call. */
function isComplete(part: Part): boolean {
  return part.kind !== 'tool_call' || part.result !== undefined || part.error !== undefined
}

/** Keeps only the last state of each tool call within a turn. */
function dropRepeatedCalls(parts: readonly Part[]): Part[] {
  const lastCalls = new Map(parts.filter(part => part.kind === 'tool_call').map(call => [call.id, call]))
  return parts.filter(part => part.kind !== 'tool_call' || lastCalls.get(part.id) === part)
}

/** Returns the closed turns. A turn is closed when the other side has spoken after it, because nothing can be merged into it any more. */
function listClosedTurns(entries: readonly Entry[]): Turns {
  return toTurns(entries).slice(0, -1)
}

/** Drops a question at the end. Its answer did not fit, and without it the question would look unanswered. */
function endWithAgent(turns: Turns): Turns {
  return turns.at(-1)?.role === 'user' ? turns.slice(0, -1) : turns
}

/** Selects the head, which gets at most half of the budget. It depends only on the first turns, so it does not change while the thread grows. */
function selectHead(turns: Turns, { keepHead, maxChars }: Window): Turns {
  let remainingChars = Math.floor(maxChars / 2)
  const end = turns.findIndex(turn => {
    remainingChars -= lengthOf(turn)
    return remainingChars < 0
  })
  return turns.slice(0, Math.min(keepHead, end < 0 ? turns.length : end))
}

function selectTail(laterTurns: Turns, head: Turns, { maxTurns, maxChars }: Window): Turns {
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

/** Returns the length of a turn's text and tool calls. Files do not count, because a prompt only names them. */
function lengthOf({ parts }: HistoricalMessage): number {
  const calls = parts.filter(part => part.kind === 'tool_call')
  return calls.reduce((sum, call) => sum + JSON.stringify(call).length, plainTextOf(parts).length)
}
