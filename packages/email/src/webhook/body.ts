import { isIP } from 'node:net'
import { Rejection, Unavailable } from '@postern/core'
import { parseBoundedJson, parseMediaType } from '@postern/http'
import { z } from 'zod'

/**
 * Reads a JSON body of this shape.
 * @throws Rejection `unsupported` for another content type, `malformed`
 */
export function readProviderJson<T>(headers: Headers, body: Buffer, schema: z.ZodType<T>): T {
  const type = parseMediaType(headers.get('content-type'))?.type
  if (type !== 'application/json') throw new Rejection('unsupported', 'Cannot read webhook: the body must be JSON')
  return checkWebhookShape(parseBoundedJson(body, { what: 'webhook' }), schema)
}

/** @throws Rejection `malformed` */
export function checkWebhookShape<T>(value: unknown, schema: z.ZodType<T>): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const field = error.issues[0]?.path.join('.')
  throw new Rejection('malformed', `Cannot read webhook: ${field ? `"${field}" is wrong` : 'it is no object'}`)
}

/** The provider must be configured to send the mail unchanged. It keeps the mail until then. */
export function missingRawMail(fix: string): Unavailable {
  return new Unavailable(`Cannot read webhook: it has no raw mail. ${fix}`, { retryAfter: 3600 })
}

/** Addresses of a comma-separated list. */
export function splitAddresses(text: string): string[] {
  return text.split(',').flatMap(address => address.trim() || [])
}

/** The client that the provider names, if it is usable. */
export function clientOf(ip: string | undefined, helo: string | undefined): { ip?: string; helo?: string } {
  return { ...(ip && isIP(ip) !== 0 && { ip }), ...(helo && { helo: helo.slice(0, 255) }) }
}

export const textSchema = z.string().optional()
