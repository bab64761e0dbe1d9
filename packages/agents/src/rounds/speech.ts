/** What of a model's text is meant to be heard. */
interface Speech {
  /** What is to be said now. */
  add(piece: string): string
  /** What was held back. */
  end(): string
}

const opening = '<think>'
const closing = '</think>'

/**
 * Leaves out the white space before the first word, and thoughts that a server left in the text (`<think>` at its beginning), however
 * they are cut into pieces.
 */
export function createSpeech(): Speech {
  let stage: 'before' | 'thinking' | 'speaking' = 'before'
  let held = ''

  function begin(): string {
    const text = held.trimStart()
    if (text.startsWith(opening)) {
      stage = 'thinking'
      held = text.slice(opening.length)
      return think()
    }
    if (opening.startsWith(text)) return ''
    stage = 'speaking'
    held = ''
    return text
  }

  function think(): string {
    const end = held.indexOf(closing)
    if (end < 0) {
      held = held.slice(-closing.length)
      return ''
    }
    stage = 'before'
    held = held.slice(end + closing.length)
    return begin()
  }

  return {
    add(piece) {
      if (stage === 'speaking') return piece
      held += piece
      return stage === 'before' ? begin() : think()
    },
    end: () => (stage === 'before' ? held.trimStart() : ''),
  }
}
