import type { AgentChunk, Log, TokenUsage } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { CallDelta, Chunk } from '../completion/chunk.ts'
import type { ModelEndpoint } from '../completion/completion.ts'

/** One answer of a model, and why it stopped. */
export interface Round {
  /** The text that was sent. */
  readonly text: string
  readonly refusal: string
  readonly calls: readonly WrittenCall[]
  readonly finish: string
  /** What it cost, where its server tells. */
  readonly usage?: TokenUsage | undefined
}

/** Characters of one answer that are passed on. */
const maxText = 200_000

/** Returns the text in pieces, and the round at its end. It does not wait for what a server sends after the end. */
export async function* readRound(chunks: AsyncIterable<Chunk>): AsyncGenerator<string, Round, undefined> {
  const speech = createSpeech()
  const calls = createCallList()
  let text = ''
  let refusal = ''
  let finish = 'stop'
  let usage: TokenUsage | undefined
  for await (const chunk of chunks) {
    const heard = speech.add(chunk.content)
    text += heard
    refusal += chunk.refusal
    if (text.length + refusal.length > maxText) throw new Error(`The model said more than ${maxText} characters`)
    if (heard) yield heard
    for (const call of chunk.calls) calls.add(call)
    usage = chunk.usage ?? usage
    if (chunk.finish === undefined) continue
    finish = chunk.finish
    break
  }
  const rest = speech.end()
  if (rest) yield rest
  return { text: text + rest, refusal, calls: calls.calls, finish, usage }
}

/** The cost of a round, under the operator's name for the model. */
export function bookUsage(
  { usage }: Round,
  { model, usage: { isWanted } }: Pick<ModelEndpoint, 'model' | 'usage'>,
): readonly AgentChunk[] {
  return usage && isWanted ? [{ usage: [{ model, ...usage }] }] : []
}

/** A call as the model wrote it. */
export interface WrittenCall {
  /** The model's own; empty when it gave none. */
  readonly id: string
  readonly name: string
  /** JSON, if the model did well. */
  readonly args: string
}

const maxCalls = 32
const maxArgs = 256 * 1024

/** Joins calls that come in pieces, however a server splits them. */
function createCallList() {
  const calls: { id: string; name: string; args: string; readonly index: number | undefined }[] = []

  function begin({ index, id, function: named }: CallDelta) {
    if (calls.length === maxCalls) throw new Error(`The model calls more than ${maxCalls} tools at once`)
    const call = { id: id ?? '', name: named?.name ?? '', args: '', index: index ?? undefined }
    calls.push(call)
    return call
  }

  return {
    calls,
    add(delta: CallDelta) {
      const { index, function: said } = delta
      const last = typeof index === 'number' ? calls.findLast(call => call.index === index) : calls.at(-1)
      const call = last && !isAnother(delta, last) ? last : begin(delta)
      call.args += toArgs(said?.arguments)
      if (call.args.length > maxArgs) throw new Error('The model calls a tool with too large arguments')
    },
  }
}

/** Ollama gives each whole call index 0 or none. Only a name begins a call, because some servers repeat the id. */
function isAnother({ index, id, function: said }: CallDelta, last: WrittenCall): boolean {
  if (!said?.name) return false
  return id ? id !== last.id : typeof index !== 'number'
}

/** Some servers send the object itself. */
function toArgs(args: unknown): string {
  if (args === undefined || args === null) return ''
  return typeof args === 'string' ? args : JSON.stringify(args)
}

const opening = '<think>'
const closing = '</think>'

/**
 * The part of a model's text that is meant for the user. Leaves out white space before the first word, and reasoning that a server left in
 * the text (`<think>` at its beginning), however it is split.
 */
function createSpeech() {
  let stage: 'before' | 'thinking' | 'speaking' = 'before'
  let held = ''

  function begin(): string {
    const text = held.trimStart()
    if (text.startsWith(opening)) {
      stage = 'thinking'
      held = text.slice(opening.length)
      return think()
    }
    if (opening.startsWith(text)) return ''
    stage = 'speaking'
    held = ''
    return text
  }

  function think(): string {
    const end = held.indexOf(closing)
    if (end < 0) {
      held = held.slice(-closing.length)
      return ''
    }
    stage = 'before'
    held = held.slice(end + closing.length)
    return begin()
  }

  return {
    /** The text to send now. */
    add(piece: string): string {
      if (stage === 'speaking') return piece
      held += piece
      return stage === 'before' ? begin() : think()
    },
    /** The text held back. */
    end: () => (stage === 'before' ? held.trimStart() : ''),
  }
}

interface EndingDeps {
  /** Whether an empty answer is intended. */
  readonly mayStaySilent: boolean
  readonly hasSpoken: boolean
  readonly log: Log
}

/** Why a model stops, by `finish_reason`. Other reasons are an ordinary end. */
const endings: Readonly<Record<string, (round: Round, deps: EndingDeps) => readonly AgentChunk[]>> = {
  stop: endWell,
  length: endCutOff,
  content_filter: refuse,
  refusal: refuse,
  abort: breakOff,
  error: breakOff,
}

/** What to add when a model calls no tool: nothing, a refusal, a mark. @throws Error, Unavailable */
export function endAnswer(round: Round, deps: EndingDeps): readonly AgentChunk[] {
  if (round.refusal.trim()) return refuse(round)
  const end = Object.hasOwn(endings, round.finish) ? endings[round.finish] : undefined
  return (end ?? endWell)(round, deps)
}

function endWell({ text }: Round, { mayStaySilent, hasSpoken, log }: EndingDeps): readonly AgentChunk[] {
  if (text.trim() || hasSpoken) return []
  if (!mayStaySilent) throw new Error('The model answered with nothing')
  log.info({}, 'the model chose to say nothing')
  return []
}

function endCutOff({ text }: Round, { log }: EndingDeps): readonly AgentChunk[] {
  if (!text.trim()) throw new Error('The model used up its longest answer before it said anything; raise "max_tokens"')
  log.warn({}, 'the answer of the model was cut off; raise "max_tokens"')
  return [' […]']
}

/** Most characters of the model's own explanation. */
const maxReason = 2_000

/** The model's own reason for not answering, or else that there is none. */
export function nameRefusal({ refusal }: Round): string {
  return refusal.trim().slice(0, maxReason) || 'This will not be answered.'
}

function refuse(round: Round): readonly AgentChunk[] {
  const message = nameRefusal(round)
  return [{ status: 'rejected', parts: [{ kind: 'policy', policy: { kind: 'forbidden', message } }] }]
}

function breakOff(): never {
  throw new Unavailable('The model broke off its answer')
}
