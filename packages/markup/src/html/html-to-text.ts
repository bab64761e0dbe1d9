import { tokenizeHtml } from '../elements/tokenize-html.ts'
import type { HtmlText, HtmlTextOptions } from './html-text.ts'
import { createHtmlTextWriter } from './text-writer.ts'

/**
 * Plain text of HTML in one pass: paragraphs, lists, quotes and `pre` kept as lines, links with their address. Nothing is fetched. Text
 * that a reader does not see is left out and reported: by attributes, inline styles and style sheets, with inheritance and cascade.
 */
export function htmlToText(html: string, options: HtmlTextOptions = {}): HtmlText {
  const writer = createHtmlTextWriter(html, options)
  tokenizeHtml(html, writer)
  return writer.end()
}
