import type { VisibleCharacters } from '@postern/markup/html'
import { readVisibleCharacters } from '@postern/markup/html'

/** The same in one line: a subject, a name. */
export function withoutInvisible(text: string): string {
  return readVisibleCharacters(text).text
}

/** One kind of line end, no control characters, nothing that is not seen. */
export function readVisibleText(text: string): VisibleCharacters {
  const read = readVisibleCharacters(text.replace(/\r\n?/g, '\n'))
  return { ...read, text: read.text.trim() }
}
