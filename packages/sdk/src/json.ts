// Converts a JSON value to a part of an answer.
import type { GivenPart } from '@postern/message'

/**
 * Converts a JSON value to a part of an answer, a post or a call: data for programs (A2A), and a file named `name` for people.
 *
 * The value is converted as by `JSON.stringify`: dates become text, and members without a value are left out.
 *
 * @example
 * // agents/desk.ts
 * import { defineAgent, json } from 'postern'
 *
 * export default defineAgent({
 *   handle: () => ({
 *     parts: [
 *       { kind: 'text', mime: 'text/plain', content: 'Your order:' },
 *       json({ order: 4711, items: ['tea'] }, 'order.json'),
 *     ],
 *   }),
 * })
 */
export function json(value: unknown, name?: string): GivenPart {
  return { kind: 'artifact', data: value, ...(name !== undefined && { name }) }
}
