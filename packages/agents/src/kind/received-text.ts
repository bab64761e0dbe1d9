// Reads the text of a received message as plain text.

import { htmlToText } from '@postern/markup/html'
import type { NormalizedMessage, TextPart } from '@postern/message'

/** Reads the sender's text as plain text: the plain version if there is one, otherwise the text that the HTML shows. */
export function readReceivedText({ parts }: Pick<NormalizedMessage, 'parts'>): string {
  const texts = parts.filter(part => part.kind === 'text')
  const plainTexts = texts.filter(part => part.mime !== 'text/html')
  return (plainTexts.length > 0 ? plainTexts : texts).map(toPlainText).join('\n\n').trim()
}

function toPlainText({ mime, content }: TextPart): string {
  // Only the text of links is returned, because the result is compared with commands and answers.
  return mime === 'text/html' ? htmlToText(content, { findAddress: () => undefined }).text : content
}
