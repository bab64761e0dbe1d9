import type { HtmlAttributes, HtmlTextOptions } from '@postern/markup/html'

/** The elements that mail programs put around the answered message, where they do not use `blockquote`. */
const quotingClass = /(?:^|\s)yahoo_quoted(?:\s|$)/i
/** Behind this Outlook quotes, to the end. */
const quotingId = /^(?:x_)*(?:appendonsend|divRplyFwdMsg)$/i

/** How the HTML of mail is read: quotations keep a mark at each line, so that answers between them are found. */
export const mailReading: HtmlTextOptions = {
  isQuote: (_, attributes) => quotingClass.test(attributes.get('class') ?? ''),
}

/** The line above a quotation. */
const introducingClass = /(?:^|\s)(?:moz-cite-prefix|gmail_attr)(?:\s|$)/i

/** The same for the newest text of a reply: without what introduces a quotation, and nothing below the mark of Outlook. */
export const replyReading: HtmlTextOptions = { ...mailReading, omit: omitAnswered }

function omitAnswered(_: string, attributes: HtmlAttributes): 'element' | 'rest' | undefined {
  if (quotingId.test(attributes.get('id') ?? '')) return 'rest'
  return introducingClass.test(attributes.get('class') ?? '') ? 'element' : undefined
}
