// Recognizes answers without content before any channel or watcher gets them.

import type { Part, PartialResponse } from '@postern/message'
import { showNothing } from '@postern/message'

/**
 * Reads an answer whose parts have no content; returns undefined for every other answer. `left` has the remaining members: its status if that has a
 * meaning without text (a question, a refusal, a failure), its actions and its tokens.
 */
export function readEmptyAnswer(
  said: PartialResponse | undefined,
): { readonly left: PartialResponse | undefined } | undefined {
  const { parts, status = 'completed', acts, notes, usage, ...others } = said ?? {}
  const isEmpty = parts ? showNothing(parts) : status === 'working'
  if (!isEmpty) return undefined
  const done = { ...(acts && { acts }), ...(notes && { notes }), ...(usage && { usage }) }
  const saysByStatus = status !== 'completed' && status !== 'working'
  if (saysByStatus) return { left: { ...others, ...done, status, parts: [] } }
  return { left: Object.keys(done).length > 0 ? done : undefined }
}

/** Withholds the blank beginning of a streamed answer from watchers until text follows it. */
export class BlankBeginning {
  readonly #held: Part[] = []
  #hasWords = false

  /** Returns the piece in the form for watchers. */
  pass(chunk: PartialResponse): PartialResponse {
    const { parts = [], status, ...others } = chunk
    if (this.#hasWords || parts.length === 0) return chunk
    const isInterim = status === 'working'
    if (!showNothing(parts)) {
      if (isInterim) return chunk
      this.#hasWords = true
      return { ...chunk, parts: [...this.#held.splice(0), ...parts] }
    }
    // Interim text is not part of the answer.
    if (!isInterim) this.#held.push(...parts)
    return { ...others, ...(status !== undefined && { status }) }
  }
}
