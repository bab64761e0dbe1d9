// Reads one answer of a model from its stream: text, tool calls, refusal and token usage.
import type { Log, TokenUsage } from '@postern/message'
import { maxAnswerBytes, parseIfJson, toWellFormed, Unavailable } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'
import type { CallDelta, Chunk } from '../completion/chunk.ts'
import type { ModelEndpoint } from '../completion/completion.ts'
import type { ModelTextOptions, WithheldText } from '../speech/model-text.ts'
import { ModelText } from '../speech/model-text.ts'

/** One answer of a model, and the reason for which it stopped. */
export interface Round {
  /** The text that has been passed on. */
  readonly text: string
  readonly refusal: string
  readonly calls: readonly ModelToolCall[]
  readonly finishReason: string
  /** The token usage, if the model's server reports it. */
  readonly usage?: TokenUsage | undefined
  /** The text of the model that people do not see. */
  readonly withheldTexts: readonly WithheldText[]
}

/** The maximum length of one answer that is passed on, characters. This limit never cuts an answer that the byte limit allows, because a character needs at least one byte. */
const maxChars = maxAnswerBytes

/** Yields the text as it arrives, and returns the round once the stream ends. */
export async function* readRound(
  chunks: AsyncIterable<Chunk>,
  options: ModelTextOptions,
): AsyncGenerator<string, Round, undefined> {
  const modelText = new ModelText(options)
  const calls = createCallList()
  let text = ''
  let refusal = ''
  let finishReason: string | undefined
  let usage: TokenUsage | undefined
  for await (const chunk of chunks) {
    usage = chunk.usage ?? usage
    if (finishReason !== undefined) continue
    modelText.addReasoning(chunk.reasoning)
    // A complete text is available at once, so waiting for its end costs nothing.
    if (chunk.finishReason !== undefined) modelText.waitForEnd()
    let visibleText = modelText.add(chunk.content)
    // Held-back text is passed on before the wait for the usage.
    if (chunk.finishReason !== undefined) visibleText += modelText.end({ isCutOff: chunk.finishReason === 'length' })
    finishReason = chunk.finishReason
    text += visibleText
    refusal += chunk.refusal
    checkLength(text.length + refusal.length)
    if (visibleText) yield visibleText
    for (const call of chunk.calls) calls.add(call)
  }
  return {
    text,
    refusal,
    calls: calls.list(),
    finishReason: finishReason ?? 'stop',
    usage,
    withheldTexts: modelText.withheld,
  }
}

/** Checks the length of an answer. @throws Error if the answer of a model is too long */
function checkLength(length: number): void {
  if (length > maxChars) throw new Error(`The model said more than ${maxChars} characters`)
}

/** Returns the part of a round that is recorded: its usage under the operator's name for the model, and the text that people do not see. */
export function toRecordChunks(
  { usage, withheldTexts: withheld }: Round,
  { model, usage: { isEnabled } }: Pick<ModelEndpoint, 'model' | 'usage'>,
): readonly AgentChunk[] {
  return [
    ...(usage && isEnabled ? [{ usage: [{ model, ...usage }] }] : []),
    ...(withheld.length > 0 ? [{ withheld: [...withheld] }] : []),
  ]
}

/** A call in the form in which the model wrote it. */
export interface ModelToolCall {
  /** The model's own id; empty if it gave none. */
  readonly id: string
  readonly name: string
  /** The arguments as the model wrote them, which should be JSON. */
  readonly args: string
}

const maxCalls = 32
const maxArgsChars = 256 * 1024

/** Joins calls that arrive in pieces, however a server splits them. */
function createCallList() {
  const calls: { id: string; name: string; args: string; readonly index: number | undefined }[] = []

  function beginCall({ index, id, function: calledFunction }: CallDelta) {
    if (calls.length === maxCalls) throw new Error(`The model calls more than ${maxCalls} tools at once`)
    const call = { id: id ?? '', name: calledFunction?.name ?? '', args: '', index: index ?? undefined }
    calls.push(call)
    return call
  }

  return {
    list: () => calls.map(({ args, ...call }) => ({ ...toWellFormed(call), args: removeLoneSurrogates(args) })),
    add(delta: CallDelta) {
      const { index, function: functionDelta } = delta
      const lastCall = typeof index === 'number' ? calls.findLast(call => call.index === index) : calls.at(-1)
      const call = lastCall && !beginsNewCall(delta, lastCall) ? lastCall : beginCall(delta)
      call.args += toArgsText(functionDelta?.arguments)
      if (call.args.length > maxArgsChars) throw new Error('The model calls a tool with too large arguments')
    },
  }
}

/**
 * Returns true if a delta begins another call. Ollama gives each whole call index 0 or none, and some servers repeat the id, so only a name
 * begins a call.
 */
function beginsNewCall({ index, id, function: functionDelta }: CallDelta, lastCall: ModelToolCall): boolean {
  if (!functionDelta?.name) return false
  return id ? id !== lastCall.id : typeof index !== 'number'
}

/** Converts arguments to text; some servers send the object itself. */
function toArgsText(args: unknown): string {
  if (args === undefined || args === null) return ''
  return typeof args === 'string' ? args : JSON.stringify(args)
}

/** Matches escapes of surrogates. Those of a valid pair match, too. */
const surrogateEscapePattern = /\\u[dD][89a-fA-F]/

/** Removes lone surrogates from the arguments, because they are sent to the model and to servers that parse them. */
function removeLoneSurrogates(args: string): string {
  const parsedArgs = surrogateEscapePattern.test(args) || !args.isWellFormed() ? parseIfJson(args) : undefined
  return parsedArgs === undefined ? toWellFormed(args) : JSON.stringify(toWellFormed(parsedArgs))
}

interface AnswerEndOptions {
  /** True if an empty answer is intended. */
  readonly mayStaySilent: boolean
  readonly hasSpoken: boolean
  readonly log: Log
}

/** The handlers of the end of an answer, by `finish_reason`. Any other reason is an ordinary end. */
const endHandlers: Readonly<Record<string, (round: Round, options: AnswerEndOptions) => readonly AgentChunk[]>> = {
  stop: endNormally,
  length: endAtMaxLength,
  content_filter: createRefusal,
  refusal: createRefusal,
  abort: throwUnavailable,
  error: throwUnavailable,
}

/** Returns what the end of an answer without tool calls adds: nothing, a refusal, or a mark. @throws Error, Unavailable */
export function endAnswer(round: Round, options: AnswerEndOptions): readonly AgentChunk[] {
  if (round.refusal.trim()) return createRefusal(round)
  const endHandler = Object.hasOwn(endHandlers, round.finishReason) ? endHandlers[round.finishReason] : undefined
  return (endHandler ?? endNormally)(round, options)
}

function endNormally(
  { text, withheldTexts: withheld }: Round,
  { mayStaySilent, hasSpoken, log }: AnswerEndOptions,
): readonly AgentChunk[] {
  if (text.trim() || hasSpoken) return []
  if (withheld.some(({ kind }) => kind === 'tool_call'))
    throw new Error('The model wrote a call of a tool as text; let its server read tool calls')
  if (!mayStaySilent) throw new Error('The model answered with nothing')
  log.info({}, 'the model chose to say nothing')
  return []
}

function endAtMaxLength({ text }: Round, { log }: AnswerEndOptions): readonly AgentChunk[] {
  if (!text.trim()) throw new Error('The model used up its longest answer before it said anything; raise "max_tokens"')
  log.warn({}, 'the answer of the model was cut off; raise "max_tokens"')
  return [' […]']
}

/** The maximum length of the model's own explanation, characters. */
const maxReasonChars = 2_000

/** Returns the model's own reason for not answering, or a sentence that it gave none. */
export function readRefusalText({ refusal }: Round): string {
  return refusal.trim().slice(0, maxReasonChars) || 'This will not be answered.'
}

function createRefusal(round: Round): readonly AgentChunk[] {
  const message = readRefusalText(round)
  return [{ status: 'rejected', parts: [{ kind: 'policy', policy: { kind: 'forbidden', message } }] }]
}

function throwUnavailable(): never {
  throw new Unavailable('The model broke off its answer')
}
