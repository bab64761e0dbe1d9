import type { Part } from '@postern/core'

/**
 * The text of a message, or of an entry of its history: texts and addresses of links, with an empty line between them.
 *
 * @example
 * import { defineAgent, readMessageText } from 'postern'
 *
 * export default defineAgent({ handle: message => `You said: ${readMessageText(message)}` })
 */
export function readMessageText({ parts }: { readonly parts: readonly Part[] }): string {
  return parts
    .flatMap(part => (part.kind === 'text' ? part.content : part.kind === 'link' ? part.url : []))
    .filter(Boolean)
    .join('\n\n')
}
