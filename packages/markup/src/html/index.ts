export type { HtmlAttributes, VisibleCharacters } from '../elements/elements.ts'
export { readVisibleCharacters } from '../elements/elements.ts'
export type { HtmlText, HtmlTextOptions } from './html-to-text.ts'
export { afterAddress, htmlToText } from './html-to-text.ts'
