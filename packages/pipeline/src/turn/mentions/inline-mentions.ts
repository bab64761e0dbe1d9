// Limits the names in the text of an answer on platforms that notify everybody whom the text names (MN-8.1, `inline`).

import type { Part, PartialResponse, TextPart } from '@postern/message'
import { formatAddress, parseIfAddress, writeNamesAsText } from '@postern/message'
import type { AgentAnswer, AgentChunk } from '../../ports/agent/agent.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { LookupStore } from '../../ports/store/lookup-store.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import { isInterim, isIterable, toPartial } from '../answer/collect-answer.ts'
import { findNamedPeople } from './conversation-people.ts'

type GivenAnswer = AgentAnswer | AsyncIterable<AgentChunk>

interface InlineMentionDeps {
  readonly store: Pick<LookupStore, 'readHistory'>
  /** Finds a running agent. If it is absent, every agent has the default configuration. */
  findAgent?(name: string): Pick<RunningAgent, 'mentions'> | undefined
}

/**
 * Passes an answer on unchanged, unless the platform notifies everybody whom its text names. In that case, addresses that the configuration does not
 * allow in the text lose their first `@`. A name at the end of a piece may continue in the next one, so it is held back until then.
 */
export function boundInlineMentions(
  answer: GivenAnswer,
  turn: Turn,
  { store, findAgent }: InlineMentionDeps,
): GivenAnswer | Promise<GivenAnswer> {
  const { mentions: policy } = findAgent?.(turn.agent) ?? {}
  const isInline = turn.content.recipient_capabilities.mention_relay.kind === 'inline'
  if (!isInline || policy === 'any' || answer === undefined) return answer
  const find = (parts: readonly Part[]) => findNamedPeople(turn, parts, { store, mentions: policy })
  const always = [turn.content.sender.address, turn.content.recipient]
  return isIterable(answer) ? boundPieces(answer, find, always) : boundWhole(toPartial(answer), find, always)
}

type FindPeople = (parts: readonly Part[]) => Promise<readonly string[]>

/** Returns the parts of a further message in the conversation of a turn. Their text names nobody whom the text of an answer may not name. */
export async function boundInlineParts(
  parts: readonly Part[],
  turn: Turn,
  deps: InlineMentionDeps,
): Promise<readonly Part[]> {
  const bounded = await boundInlineMentions({ parts: [...parts] }, turn, deps)
  return bounded === undefined || isIterable(bounded) ? parts : (toPartial(bounded).parts ?? parts)
}

async function boundWhole(
  answer: PartialResponse,
  find: FindPeople,
  always: readonly string[],
): Promise<PartialResponse> {
  if (!answer.parts) return answer
  const counts = createCheck([...always, ...(answer.mentions ?? []), ...(await find(answer.parts))])
  const parts = answer.parts.map(part =>
    part.kind === 'text' ? { ...part, content: writeNamesAsText(part.content, counts) } : part,
  )
  return { ...answer, parts }
}

function createCheck(people: readonly string[]): (address: string) => boolean {
  const addresses = new Set(people.flatMap(text => parseIfAddress(text) ?? []).map(formatAddress))
  return address => addresses.has(address)
}

/** Matches the end of a text that may be the beginning of a name. */
const openName = /@[^\s@]{0,320}(?:@[^\s@]{0,320})?$/

async function* boundPieces(
  pieces: AsyncIterable<AgentChunk>,
  find: FindPeople,
  always: readonly string[],
): AsyncGenerator<AgentChunk> {
  const stream = new BoundStream(find, always)
  for await (const piece of pieces) {
    const partial = toPartial(piece)
    if (!partial.parts) yield partial
    else {
      const parts = await stream.take(partial.parts, isInterim(partial))
      if (parts.length > 0 || Object.keys(partial).length > 1) yield { ...partial, parts }
    }
  }
  const remainingParts = await stream.end()
  if (remainingParts.length > 0) yield { parts: remainingParts }
}

/** The text of a streamed answer, of which the last name may be unfinished. */
class BoundStream {
  readonly #find: FindPeople
  readonly #always: readonly string[]
  #held: TextPart | undefined
  #before = ''

  constructor(find: FindPeople, always: readonly string[]) {
    this.#find = find
    this.#always = always
  }

  /** Returns the parts that can be sent now. `isWhole` is true if no later piece continues them. */
  async take(parts: readonly Part[], isWhole: boolean): Promise<Part[]> {
    const ready: Part[] = []
    for (const part of parts) {
      if (part.kind !== 'text' || part.mime !== this.#held?.mime) ready.push(...(await this.end()))
      ready.push(...(part.kind === 'text' ? await this.#takeText(part) : [part]))
    }
    return isWhole ? [...ready, ...(await this.end())] : ready
  }

  /** Returns the parts that were held back. */
  async end(): Promise<Part[]> {
    const held = this.#held
    this.#held = undefined
    return held ? [await this.#bound(held)] : []
  }

  async #takeText(part: TextPart): Promise<Part[]> {
    const text = (this.#held?.content ?? '') + part.content
    const [end = ''] = openName.exec(text) ?? []
    this.#held = end ? { ...part, content: end } : undefined
    const content = end ? text.slice(0, -end.length) : text
    return content ? [await this.#bound({ ...part, content })] : []
  }

  async #bound(part: TextPart): Promise<TextPart> {
    const counts = createCheck([...this.#always, ...(await this.#find([part]))])
    const content = writeNamesAsText(part.content, counts, this.#before)
    this.#before = part.content.at(-1) ?? this.#before
    return { ...part, content }
  }
}
