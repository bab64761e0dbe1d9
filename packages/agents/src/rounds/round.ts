import type { AgentChunk, TokenUsage } from '@postern/core'
import type { Chunk } from '../completion/chunk.ts'
import type { ModelEndpoint } from '../completion/completion.ts'
import type { WrittenCall } from './call-list.ts'
import { createCallList } from './call-list.ts'
import { createSpeech } from './speech.ts'

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
