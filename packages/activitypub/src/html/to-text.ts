import { htmlToText } from '@postern/markup/html'
import { findWebAddress } from '../format/iri.ts'
import { hidesWords } from '../format/text-hygiene.ts'

export { afterAddress } from '@postern/markup/html'

interface ReadText {
  readonly text: string
  /** True when it removed something that a human reader does not see. */
  readonly hadHidden: boolean
}

interface ReadOptions {
  /** A mention at the very beginning that leads here is left out: it is the address on the envelope. */
  readonly isOwnMention?: ((href: string) => boolean) | undefined
}

/** By these the servers of this network hide parts of a text. */
const hidingClasses: ReadonlySet<string> = new Set(['invisible', 'hidden', 'sr-only', 'visually-hidden', 'd-none'])

/**
 * Plain text of a post: it keeps paragraphs and lists as lines, links with their address, and nothing that is hidden.
 */
export function readPostText(html: string, { isOwnMention }: ReadOptions = {}): ReadText {
  const { text, hasHidden, invisible } = htmlToText(html, { isOwnMention, findAddress: findWebAddress, hidingClasses })
  return { text, hadHidden: hasHidden || hidesWords(invisible) }
}
