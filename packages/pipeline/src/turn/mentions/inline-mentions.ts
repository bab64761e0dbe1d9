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
const openNamePattern = /@[^\s@]{0,320}(?:@[^\s@]{0,320})?$/

async function* boundPieces(pieces: AsyncIterable<AgentChunk>, names: InlineNames): AsyncGenerator<AgentChunk> {
  const stream = new BoundStream(names)
  for await (const piece of pieces) {
    const partial = toPartial(piece)
    if (!partial.parts) yield partial
    else {
      const parts = await stream.addParts(partial.parts, { isWhole: isInterim(partial) })
      if (parts.length > 0 || Object.keys(partial).length > 1) yield { ...partial, parts }
    }
  }
  const remainingParts = await stream.end()
  if (remainingParts.length > 0) yield { parts: remainingParts }
}

/** Limits the names in a streamed answer, whose last name may be unfinished. */
class BoundStream {
  readonly #names: InlineNames
  #heldText: TextPart | undefined
  #precedingCharacter = ''

  constructor(names: InlineNames) {
    this.#names = names
  }

  /** Returns the parts that can be sent now. `isWhole` is true if no later piece continues them. */
  async addParts(parts: readonly Part[], { isWhole }: { readonly isWhole: boolean }): Promise<Part[]> {
    const readyParts: Part[] = []
    for (const part of parts) {
      if (part.kind !== 'text' || part.mime !== this.#heldText?.mime) readyParts.push(...(await this.end()))
      readyParts.push(...(part.kind === 'text' ? await this.#addText(part) : [part]))
    }
    return isWhole ? [...readyParts, ...(await this.end())] : readyParts
  }

  /** Returns the parts that were held back. */
  async end(): Promise<Part[]> {
    const heldText = this.#heldText
    this.#heldText = undefined
    return heldText ? [await this.#boundText(heldText)] : []
  }

  async #addText(part: TextPart): Promise<Part[]> {
    const text = (this.#heldText?.content ?? '') + part.content
    const [unfinishedName = ''] = openNamePattern.exec(text) ?? []
    this.#heldText = unfinishedName ? { ...part, content: unfinishedName } : undefined
    const content = unfinishedName ? text.slice(0, -unfinishedName.length) : text
    return content ? [await this.#boundText({ ...part, content })] : []
  }

  async #boundText(part: TextPart): Promise<TextPart> {
    const { unconditionalNames, findNames } = this.#names
    const isNamed = createNameCheck([...unconditionalNames, ...(await findNames([part]))])
    const content = writeNamesAsText(part.content, isNamed, this.#precedingCharacter)
    this.#precedingCharacter = part.content.at(-1) ?? this.#precedingCharacter
    return { ...part, content }
  }
}
