// Parses the form and JSON bodies of providers' webhooks.
import { isIP } from 'node:net'
import { parseBoundedJson, parseMediaType } from '@postern/http'
import { Rejection, Unavailable } from '@postern/message'
import { z } from 'zod'

/**
 * The fields of a form as octets, because mail is not always UTF-8. If several fields have the same name, the first
 * field counts, except in lists (`x[]`).
 */
export type Form = ReadonlyMap<string, Buffer>

/**
 * The limits on the fields of a form and on the header of one part, in octets. No provider sends more. The limits bound
 * the memory.
 */
const [maxFields, maxPartHeaderBytes] = [1000, 8192]

const formats: Readonly<Record<string, (body: Buffer, parameters: ReadonlyMap<string, string>) => Form>> = {
  'application/x-www-form-urlencoded': parseUrlEncoded,
  'multipart/form-data': (body, parameters) => parseMultipart(body, parameters.get('boundary') ?? ''),
}

/**
 * Reads a form (RFC 7578, or URL-encoded) in one pass over a body whose size is already limited. Values are not decoded into text.
 * @throws Rejection `unsupported` for another content type, `malformed`
 */
export function parseForm(headers: Headers, body: Buffer): Form {
  const type = parseMediaType(headers.get('content-type'))
  const parse = type && formats[type.type]
  if (!parse) throw new Rejection('unsupported', 'Cannot read webhook: the body must be a form')
  return parse(body, type.parameters)
}

/** Returns a field as text, or an empty string if it is absent. */
export function formText(form: Form, name: string): string {
  return form.get(name)?.toString('utf8') ?? ''
}

function parseMultipart(body: Buffer, boundary: string): Form {
  if (!boundary || boundary.length > 200) throw createMalformedRejection('it has no boundary')
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const firstDelimiter = body.indexOf(delimiter.subarray(2))
  const form = new Map<string, Buffer>()
  let fieldCount = 0
  let position = firstDelimiter < 0 ? -1 : firstDelimiter + delimiter.length - 2
  while (position >= 0 && body.toString('latin1', position, position + 2) !== '--') {
    fieldCount += 1
    if (fieldCount > maxFields) throw createMalformedRejection(`more than ${maxFields} fields`)
    const end = body.indexOf(delimiter, position)
    if (end < 0) throw createMalformedRejection('a part has no end')
    addPart(body.subarray(position, end), form)
    position = end + delimiter.length
  }
  if (position < 0) throw createMalformedRejection('its boundary does not occur')
  return form
}

/** Adds a field. Repeated fields `x[]` become `x[0]`, `x[1]` and so on, which is the other common spelling of a list. */
function addField(form: Map<string, Buffer>, name: string, value: Buffer): void {
  const listName = name.endsWith('[]') ? name.slice(0, -2) : undefined
  let index = 0
  while (listName !== undefined && form.has(`${listName}[${index}]`)) index += 1
  const key = listName === undefined ? name : `${listName}[${index}]`
  if (!form.has(key)) form.set(key, value)
}

/**
 * Matches the parameter `name`. It skips quoted strings, because a file name comes from a stranger and may contain text
 * like `name=`.
 */
const namePattern =
  /^content-disposition:(?:[^"\r\n]|"(?:[^"\\\r\n]|\\[^\r\n])*")*?;[ \t]*name=(?:"([^"\r\n]*)"|([^\s;"]+))/im

/**
 * Adds the field of a part. The part begins with the rest of its delimiter line. Its header, an empty line and the
 * value follow.
 */
function addPart(part: Buffer, form: Map<string, Buffer>): void {
  const headerEnd = part.subarray(0, maxPartHeaderBytes).indexOf('\r\n\r\n')
  if (headerEnd < 0) throw createMalformedRejection('a part has no header')
  const header = part.toString('utf8', 0, headerEnd)
  const name = namePattern.exec(header)
  const key = name?.[1] ?? name?.[2]
  if (key !== undefined) addField(form, key, part.subarray(headerEnd + 4))
}

function parseUrlEncoded(body: Buffer): Form {
  const form = new Map<string, Buffer>()
  let fieldCount = 0
  for (let position = 0; position < body.length; ) {
    fieldCount += 1
    if (fieldCount > maxFields) throw createMalformedRejection(`more than ${maxFields} fields`)
    const next = body.indexOf('&', position)
    const end = next < 0 ? body.length : next
    const equals = body.subarray(position, end).indexOf('=')
    const middle = equals < 0 ? end : position + equals
    const name = decodePercent(body.subarray(position, middle)).toString('utf8')
    addField(form, name, decodePercent(body.subarray(middle + 1, end)))
    position = end + 1
  }
  return form
}

const [percent, plus, space] = [0x25, 0x2b, 0x20]

/** Decodes `+` and `%xx` to octets. Malformed escapes are unchanged. */
function decodePercent(text: Buffer): Buffer {
  const octets = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let index = 0; index < text.length; index += 1) {
    const octet = text[index] ?? 0
    const decodedOctet = octet === percent ? hexOf(text[index + 1]) * 16 + hexOf(text[index + 2]) : Number.NaN
    if (!Number.isNaN(decodedOctet)) index += 2
    octets[length] = Number.isNaN(decodedOctet) ? (octet === plus ? space : octet) : decodedOctet
    length += 1
  }
  return octets.subarray(0, length)
}

function hexOf(octet: number | undefined): number {
  if (octet === undefined) return Number.NaN
  if (octet >= 0x30 && octet <= 0x39) return octet - 0x30
  const letter = octet | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN
}

function createMalformedRejection(reason: string): Rejection {
  return new Rejection('malformed', `Cannot read webhook: ${reason}`)
}

/**
 * Reads a JSON body and checks it against the schema.
 * @throws Rejection `unsupported` for another content type, `malformed`
 */
export function readProviderJson<T>(headers: Headers, body: Buffer, schema: z.ZodType<T>): T {
  const type = parseMediaType(headers.get('content-type'))?.type
  if (type !== 'application/json') throw new Rejection('unsupported', 'Cannot read webhook: the body must be JSON')
  return checkWebhookShape(parseBoundedJson(body, { label: 'webhook' }), schema)
}

/**
 * Checks parsed JSON against the schema of a webhook.
 * @throws Rejection `malformed`
 */
export function checkWebhookShape<T>(value: unknown, schema: z.ZodType<T>): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const field = error.issues[0]?.path.join('.')
  throw new Rejection('malformed', `Cannot read webhook: ${field ? `"${field}" is wrong` : 'it is no object'}`)
}

/** Returns the error for a webhook without raw mail. The provider keeps the mail and retries until an operator has configured it to send raw mail. */
export function createMissingMailError(fix: string): Unavailable {
  return new Unavailable(`Cannot read webhook: it has no raw mail. ${fix}`, { retryAfter: 3600 })
}

/** Splits a comma-separated list of addresses. */
export function splitAddresses(text: string): string[] {
  return text.split(',').flatMap(address => address.trim() || [])
}

/** Returns the client that the provider names. It omits an invalid IP address. */
export function readClient(ip: string | undefined, helo: string | undefined): { ip?: string; helo?: string } {
  return { ...(ip && isIP(ip) !== 0 && { ip }), ...(helo && { helo: helo.slice(0, 255) }) }
}

/** The schema of optional text in a webhook. */
export const textSchema = z.string().optional()
