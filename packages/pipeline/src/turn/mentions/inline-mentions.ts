// Limits the names in the text of an answer on platforms that notify everybody whom the text names (MN-8.1, `inline`).

import type { Part, PartialResponse, TextPart } from '@postern/message'
import { writeNamesAsText } from '@postern/message'
import type { InlineMentionDeps, InlineNames } from '../../history/inline-parts.ts'
import { boundInlineParts, createNameCheck, readInlineNames } from '../../history/inline-parts.ts'
import type { AgentAnswer, AgentChunk } from '../../ports/agent/agent.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { isInterim, isIterable, toPartial } from '../answer/collect-answer.ts'

type GivenAnswer = AgentAnswer | AsyncIterable<AgentChunk>

/**
 * Passes an answer on unchanged, unless the platform notifies everybody whom its text names. In that case, addresses that the configuration does not
 * allow in the text lose their first `@`. A name at the end of a piece may continue in the next one, so it is held back until then.
 */
export function boundInlineMentions(
  answer: GivenAnswer,
  turn: Turn,
  deps: InlineMentionDeps,
): GivenAnswer | Promise<GivenAnswer> {
  const names = readInlineNames(turn, deps)
  if (!names || answer === undefined) return answer
  return isIterable(answer) ? boundPieces(answer, names) : boundAnswer(toPartial(answer), names)
}

async function boundAnswer(answer: PartialResponse, names: InlineNames): Promise<PartialResponse> {
  return answer.parts ? { ...answer, parts: await boundInlineParts(answer.parts, names, answer.mentions) } : answer
}

/** Matches the end of a text that may be the beginning of a name. */
const openName = /@[^\s@]{0,320}(?:@[^\s@]{0,320})?$/

async function* boundPieces(pieces: AsyncIterable<AgentChunk>, names: InlineNames): AsyncGenerator<AgentChunk> {
  const stream = new BoundStream(names)
  for await (const piece of pieces) {
    const partial = toPartial(piece)
    if (!partial.parts) yield partial
    else {
      const parts = await stream.addParts(partial.parts, isInterim(partial))
      if (parts.length > 0 || Object.keys(partial).length > 1) yield { ...partial, parts }
    }
  }
  const remainingParts = await stream.end()
  if (remainingParts.length > 0) yield { parts: remainingParts }
}

/** The text of a streamed answer, of which the last name may be unfinished. */
class BoundStream {
  readonly #names: InlineNames
  #held: TextPart | undefined
  #before = ''

  constructor(names: InlineNames) {
    this.#names = names
  }

  /** Returns the parts that can be sent now. `isWhole` is true if no later piece continues them. */
  async addParts(parts: readonly Part[], isWhole: boolean): Promise<Part[]> {
    const readyParts: Part[] = []
    for (const part of parts) {
      if (part.kind !== 'text' || part.mime !== this.#held?.mime) readyParts.push(...(await this.end()))
      readyParts.push(...(part.kind === 'text' ? await this.#takeText(part) : [part]))
    }
    return isWhole ? [...readyParts, ...(await this.end())] : readyParts
  }

  /** Returns the parts that were held back. */
  async end(): Promise<Part[]> {
    const heldText = this.#held
    this.#held = undefined
    return heldText ? [await this.#bound(heldText)] : []
  }

  async #takeText(part: TextPart): Promise<Part[]> {
    const text = (this.#held?.content ?? '') + part.content
    const [end = ''] = openName.exec(text) ?? []
    this.#held = end ? { ...part, content: end } : undefined
    const content = end ? text.slice(0, -end.length) : text
    return content ? [await this.#bound({ ...part, content })] : []
  }

  async #bound(part: TextPart): Promise<TextPart> {
    const { always, find } = this.#names
    const isNamed = createNameCheck([...always, ...(await find([part]))])
    const content = writeNamesAsText(part.content, isNamed, this.#before)
    this.#before = part.content.at(-1) ?? this.#before
    return { ...part, content }
  }
}
