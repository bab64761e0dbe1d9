import type { HistoricalMessage, HistoricalSender, NormalizedMessage } from '../message/message.ts'
import type { Part, ToolCallPart } from '../message/part.ts'
import { knownPartSchema } from '../message/part.ts'
import { isFilePart, plainTextOf } from '../message/response.ts'
import type { HistoryPolicy, HistoryView } from '../ports/agent/history-policy.ts'
import type { Entry } from '../ports/records/transcript.ts'

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
type Turns = readonly HistoricalMessage[]

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

function mergeNeighbours(turns: Turns): Turns {
  const merged: HistoricalMessage[] = []
  let speaker: HistoricalSender | undefined
  for (const turn of turns) {
    const last = merged.at(-1)
    if (last?.role === turn.role) merged[merged.length - 1] = joinTurns(last, turn, speaker)
    else merged.push(turn)
    speaker = turn.sender
  }
  return merged
}

/**
 * `speaker` wrote last. The same name with another proof is another writer: a forged name must not be among proven
 * words.
 */
function joinTurns(
  turn: HistoricalMessage,
  { sender, parts }: HistoricalMessage,
  speaker: HistoricalSender | undefined,
): HistoricalMessage {
  if (isSameWriter(sender, speaker)) return { ...turn, parts: [...turn.parts, ...parts] }
  const writers = [...(turn.writers ?? [turn.sender]), sender]
  return {
    ...turn,
    sender: weakenProof(turn.sender, writers),
    writers,
    parts: [...turn.parts, announceSpeaker(sender.address), ...parts],
  }
}

function isSameWriter(sender: HistoricalSender, speaker: HistoricalSender | undefined): boolean {
  const { address, verified, auth_method } = speaker ?? {}
  return address === sender.address && verified === sender.verified && auth_method === sender.auth_method
}

/** The first writer, and of the proof only what holds for all words of the turn. */
function weakenProof(first: HistoricalSender, writers: readonly HistoricalSender[]): HistoricalSender {
  if (writers.every(({ verified }) => verified === first.verified)) return first
  const { address, display_name } = first
  return { address, ...(display_name !== undefined && { display_name }), verified: false, auth_method: 'none' }
}

/** The writers of a turn must stay known when there are several. */
export function announceSpeaker(address: string): Part {
  return { kind: 'text', mime: 'text/plain', content: `${address}:` }
}

/** A line of a writer that looks as if another one began to speak there. */
const likeSpeaker = /^(?=[^\S\n]*@[^\s@]+@[^\s@]+:[^\S\n]*$)/gmu

/** No writer puts words into another's mouth by writing a name in the format used here. */
export function quoteNames(part: Part): Part {
  if (part.kind !== 'text') return part
  const content = part.content.replace(likeSpeaker, '> ')
  return content === part.content ? part : { ...part, content }
}

/** A turn is closed, and may join the head, once the other side has spoken after it: nothing is merged into it then. */
function closedTurns(entries: readonly Entry[]): Turns {
  return toTurns(entries).slice(0, -1)
}

/** When the answer did not fit, a question alone would look unanswered. */
function endWithAgent(turns: Turns): Turns {
  return turns.at(-1)?.role === 'user' ? turns.slice(0, -1) : turns
}

/** Depends on the first turns alone, so it never changes while the thread grows; at most half of the budget. */
function takeHead(turns: Turns, { keepHead, maxChars }: Window): Turns {
  let room = Math.floor(maxChars / 2)
  const end = turns.findIndex(turn => {
    room -= lengthOf(turn)
    return room < 0
  })
  return turns.slice(0, Math.min(keepHead, end < 0 ? turns.length : end))
}

function takeTail(rest: Turns, head: Turns, { maxTurns, maxChars }: Window): Turns {
  let room = maxChars - head.reduce((sum, turn) => sum + lengthOf(turn), 0)
  let start = rest.length
  while (start > 0 && rest.length - start < maxTurns - head.length) {
    room -= lengthOf(rest[start - 1] as HistoricalMessage)
    if (room < 0) break
    start -= 1
  }
  // After a gap the tail must still alternate with the head.
  const tail = rest.slice(start)
  return tail[0]?.role === head.at(-1)?.role ? tail.slice(1) : tail
}

/** Text and tool calls count; files are only named in a prompt. */
function lengthOf({ parts }: HistoricalMessage): number {
  const calls = parts.filter(part => part.kind === 'tool_call')
  return calls.reduce((sum, call) => sum + JSON.stringify(call).length, plainTextOf(parts).length)
}

/**
 * The parts of an answer with each tool call once. Its end replaces its beginning, and keeps what only the beginning
 * had. A further call under the id of an ended one gets an id of its own, because calls are found by id.
 */
export function collapseCalls<Some extends Part>(parts: readonly Some[]): readonly Some[] {
  const collapsed: Some[] = []
  const places = new Map<string, number>()
  for (const part of parts) {
    const call: Part = part
    if (call.kind !== 'tool_call') {
      collapsed.push(part)
      continue
    }
    const place = places.get(call.id)
    const begun = place === undefined ? undefined : (collapsed[place] as Part as ToolCallPart)
    if (place !== undefined && begun && isOneCall(begun, call))
      collapsed[place] = joinHalves(begun, call) as Part as Some
    else {
      const id = place === undefined ? call.id : freeId(call.id, places)
      places.set(id, collapsed.length)
      collapsed.push(id === call.id ? part : ({ ...call, id } as Part as Some))
    }
  }
  return collapsed
}

function isOneCall(begun: ToolCallPart, call: ToolCallPart): boolean {
  return begun.name === call.name && !(hasEnded(begun) && hasEnded(call))
}

function hasEnded({ result, error }: ToolCallPart): boolean {
  return result !== undefined || error !== undefined
}

function joinHalves(begun: ToolCallPart, call: ToolCallPart): ToolCallPart {
  const known = Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined))
  return { ...begun, ...known } as ToolCallPart
}

function freeId(id: string, taken: ReadonlyMap<string, number>): string {
  for (let count = 2; ; count += 1) if (!taken.has(`${id}-${count}`)) return `${id}-${count}`
}

/** Several messages of one sender as the last of them: the parts of all in order, and which are whose. */
export function mergeMessages(earlier: readonly NormalizedMessage[], last: NormalizedMessage): NormalizedMessage {
  if (earlier.length === 0) return last
  const members = {
    parts: [...earlier, last].flatMap(({ parts }) => parts),
    merged: earlier.map(({ id, received_at, parts }) => ({ id, received_at, part_count: parts.length })),
  }
  // Spreading would read the lazy `raw`.
  const described = { ...Object.getOwnPropertyDescriptors(last), ...Object.getOwnPropertyDescriptors(members) }
  return Object.defineProperties({}, described) as NormalizedMessage
}

/**
 * The files, pictures and words that a tool returned, where its `result` is an object whose `parts` are parts of messages (ours: the contract leaves open
 * what a result is). Undefined for every other result.
 */
export function readResultParts(result: unknown): readonly Part[] | undefined {
  const listed = typeof result === 'object' && result !== null && 'parts' in result ? result.parts : undefined
  if (!Array.isArray(listed)) return undefined
  const parts = listed.map(part => knownPartSchema.safeParse(part).data)
  return parts.every(part => part !== undefined) && parts.some(isFilePart) ? parts.filter(isPresentable) : undefined
}

/** Words, files and pictures; calls and requirements are for the channel that shows them. */
export function isPresentable({ kind }: Part): boolean {
  return kind !== 'tool_call' && kind !== 'policy'
}
