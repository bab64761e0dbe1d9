// Recognizes answers without content before any channel or watcher gets them.

import type { Part, PartialResponse } from '@postern/message'
import { showNothing } from '@postern/message'

/**
 * Reads an answer whose parts have no content; returns undefined for every other answer. `remaining` has the other members of the answer: its status if that
 * has a meaning without text (a question, a refusal, a failure), its actions, notes and tokens.
 */
export function readEmptyAnswer(
  answer: PartialResponse | undefined,
): { readonly remaining: PartialResponse | undefined } | undefined {
  const { parts, status = 'completed', acts, notes, usage, ...otherMembers } = answer ?? {}
  const isEmpty = parts ? showNothing(parts) : status === 'working'
  if (!isEmpty) return undefined
  const effects = { ...(acts && { acts }), ...(notes && { notes }), ...(usage && { usage }) }
  const hasMeaningfulStatus = status !== 'completed' && status !== 'working'
  if (hasMeaningfulStatus) return { remaining: { ...otherMembers, ...effects, status, parts: [] } }
  return { remaining: Object.keys(effects).length > 0 ? effects : undefined }
}

/** Withholds the blank beginning of a streamed answer from watchers until text follows it. */
export class BlankBeginning {
  readonly #heldParts: Part[] = []
  #hasContent = false

  /** Returns the piece in the form for watchers. */
  pass(chunk: PartialResponse): PartialResponse {
    const { parts = [], status, ...otherMembers } = chunk
    if (this.#hasContent || parts.length === 0) return chunk
    const isInterim = status === 'working'
    if (!showNothing(parts)) {
      if (isInterim) return chunk
      this.#hasContent = true
      return { ...chunk, parts: [...this.#heldParts.splice(0), ...parts] }
    }
    // Interim text is not part of the answer.
    if (!isInterim) this.#heldParts.push(...parts)
    return { ...otherMembers, ...(status !== undefined && { status }) }
  }
}
