/** The part of a model's text that is meant for the user. */
interface Speech {
  /** The text to send now. */
  add(piece: string): string
  /** The text held back. */
  end(): string
}

const opening = '<think>'
const closing = '</think>'

/**
 * Leaves out white space before the first word, and reasoning that a server left in the text (`<think>` at its beginning), however it is
 * split.
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
