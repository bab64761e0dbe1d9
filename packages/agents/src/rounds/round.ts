import type { AgentChunk, TokenUsage } from '@postern/core'
import type { Chunk } from '../completion/chunk.ts'
import type { ModelEndpoint } from '../completion/completion.ts'
import type { WrittenCall } from './call-list.ts'
import { createCallList } from './call-list.ts'
import { createSpeech } from './speech.ts'

/** What a model said in one go, and why it stopped. */
export interface Round {
  /** What was heard of it. */
  readonly text: string
  readonly refusal: string
  readonly calls: readonly WrittenCall[]
  readonly finish: string
  /** What it cost, where its server tells. */
  readonly usage?: TokenUsage | undefined
}

/** Characters of one answer that are passed on. */
const maxText = 200_000

/** Gives the text as it comes, and the round when it is over. What a server sends after the end is not waited for. */
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

/** What a round cost, to be kept with the answer under the name that the operator gave the model. */
export function bookUsage(
  { usage }: Round,
  { model, usage: { isWanted } }: Pick<ModelEndpoint, 'model' | 'usage'>,
): readonly AgentChunk[] {
  return usage && isWanted ? [{ usage: [{ model, ...usage }] }] : []
}
