// Reads a small piece of HTML as the text that a person sees.
import { decodeHTML } from 'entities/decode'

/** Reads HTML as text: drops tags, and makes paragraphs and breaks lines. Like a peer's reader, it shares no code with the gateway's. */
export function readHtmlText(html: string): string {
  const text = html
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/(p|div|li|h[1-6]|pre|blockquote)>\s*/gi, '\n\n')
    .replace(/<[^<>]*>/g, '')
  return decodeHTML(text)
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
