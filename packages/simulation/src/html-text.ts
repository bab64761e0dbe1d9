// Reads a small piece of HTML as the text that a reader sees.
import { decodeHTML } from 'entities/decode'

/** Drops tags, and turns paragraphs and breaks into lines. It shares no code with the gateway, like a peer's reader. */
export function readHtmlText(html: string): string {
  const text = html
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/(p|div|li|h[1-6]|pre|blockquote)>\s*/gi, '\n\n')
    .replace(/<[^<>]*>/g, '')
  return decodeHTML(text)
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
