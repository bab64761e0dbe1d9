// Joins characters that two pieces of a streamed answer have split.
import { toWellFormed } from '../../format/text/well-formed.ts'
import type { Part, TextPart } from '../part.ts'
import type { PartialResponse } from '../response.ts'

/** The pieces of one answer, which pass in order. */
interface PieceJoints {
  /** Returns the piece well formed. A half character at its end waits for the next piece. */
  next(piece: PartialResponse): PartialResponse
  /** Returns a piece with the last half character, if one is left that nothing completes. */
  end(): readonly PartialResponse[]
}

const halfAtEnd = /[\ud800-\udbff]$/

export function createPieceJoints(): PieceJoints {
  let pendingPart: TextPart | undefined

  function release(): readonly Part[] {
    const lastPart = pendingPart
    pendingPart = undefined
    return lastPart ? [toWellFormed(lastPart)] : []
  }

  function nextText(part: TextPart): readonly Part[] {
    const isContinued = pendingPart?.mime === part.mime
    const before = isContinued ? [] : release()
    const content = (isContinued && pendingPart ? pendingPart.content : '') + part.content
    const half = halfAtEnd.exec(content)?.[0]
    pendingPart = half === undefined ? undefined : { ...part, content: half }
    const completeText = half === undefined ? content : content.slice(0, -1)
    // A piece of only half a character has no text yet.
    return completeText === '' && half !== undefined
      ? before
      : [...before, toWellFormed({ ...part, content: completeText })]
  }

  return {
    next(piece) {
      if (!piece.parts?.length) return toWellFormed(piece)
      const parts = piece.parts.flatMap(part =>
        part.kind === 'text' ? nextText(part) : [...release(), toWellFormed(part)],
      )
      return { ...toWellFormed({ ...piece, parts: undefined }), parts }
    },
    end() {
      const parts = release()
      return parts.length > 0 ? [{ parts: [...parts] }] : []
    },
  }
}
