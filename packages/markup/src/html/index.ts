export type { HtmlAttributes } from '../elements/elements.ts'
export { readVisibleCharacters, tokenizeHtml } from '../elements/elements.ts'
export type { HtmlTextOptions } from './html-to-text.ts'
export { afterAddress, htmlToText } from './html-to-text.ts'
