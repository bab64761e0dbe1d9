// Converts HTML to plain text, Markdown and safe HTML.
export type { HtmlAttributes } from '../elements/elements.ts'
export { tokenizeHtml } from '../elements/elements.ts'
export { htmlToMarkdown } from './html-to-markdown.ts'
export type { HtmlTextOptions } from './html-to-text.ts'
export { htmlToText } from './html-to-text.ts'
export { addressSeparatorPattern } from './link-writer.ts'
export { htmlToMailHtml } from './mail-html.ts'
export { sanitizeHtml } from './sanitize.ts'
