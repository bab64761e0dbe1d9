// Keeps the two halves of a character together that the pieces of a streamed answer part.
import { toWellFormed } from '../../format/text/well-formed.ts'
import type { Part, TextPart } from '../part.ts'
import type { PartialResponse } from '../response.ts'

/** The pieces of one answer, in their order. */
interface PieceJoints {
  /** Returns the piece as it may leave: well formed, without the half character at its end, which waits for the next piece. */
  pass(piece: PartialResponse): PartialResponse
  /** Returns a piece for the half character that nothing completes any more, if one is left. */
  end(): readonly PartialResponse[]
}

const halfAtEnd = /[\ud800-\udbff]$/

export function createPieceJoints(): PieceJoints {
  let held: TextPart | undefined

  function release(): readonly Part[] {
    const left = held
    held = undefined
    return left ? [toWellFormed(left)] : []
  }

  function passText(part: TextPart): readonly Part[] {
    const isContinued = held?.mime === part.mime
    const before = isContinued ? [] : release()
    const content = (isContinued && held ? held.content : '') + part.content
    const half = halfAtEnd.exec(content)?.[0]
    held = half === undefined ? undefined : { ...part, content: half }
    const said = half === undefined ? content : content.slice(0, -1)
    // A piece that is nothing but half a character says nothing yet.
    return said === '' && half !== undefined ? before : [...before, toWellFormed({ ...part, content: said })]
  }

  return {
    pass(piece) {
      if (!piece.parts?.length) return toWellFormed(piece)
      const parts = piece.parts.flatMap(part =>
        part.kind === 'text' ? passText(part) : [...release(), toWellFormed(part)],
      )
      return { ...toWellFormed({ ...piece, parts: undefined }), parts }
    },
    end() {
      const parts = release()
      return parts.length > 0 ? [{ parts: [...parts] }] : []
    },
  }
}
