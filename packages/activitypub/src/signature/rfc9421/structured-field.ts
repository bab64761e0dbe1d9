// Parses and formats the structured fields that carry HTTP signatures (RFC 8941).
import { Rejection } from '@postern/message'

/** The types of a parameter. Tokens, decimals and the other types of RFC 8941 have no meaning in a signature. */
type ParameterValue = string | number | true

export type Parameters = ReadonlyMap<string, ParameterValue>

/** A string with parameters. */
interface ListItem {
  readonly value: string
  readonly parameters: Parameters
}

export interface InnerList {
  readonly items: readonly ListItem[]
  readonly parameters: Parameters
}

const maxFieldLength = 8_192

/**
 * Parses a dictionary whose members are inner lists of strings (RFC 8941 §3.2), such as `Signature-Input`. It is stricter than the RFC: it
 * rejects repeated members, because two readers may use different ones. It takes linear time. `what` names the field.
 * @throws Rejection `signature_invalid`
 */
export function parseInnerLists(text: string, what: string): ReadonlyMap<string, InnerList> {
  return parseDictionary(text, what, takeInnerList)
}

/** Parses a dictionary of byte sequences, such as `Signature` and `Content-Digest`. @throws Rejection `signature_invalid` */
export function parseByteSequences(text: string, what: string): ReadonlyMap<string, Uint8Array> {
  return parseDictionary(text, what, ({ take }) => Buffer.from(take(patterns.bytes)[1] ?? '', 'base64'))
}

/** Formats an inner list in its canonical form (RFC 8941 §4.1.1.1). */
export function formatInnerList({ items, parameters }: InnerList): string {
  const written = items.map(item => formatString(item.value) + formatParameters(item.parameters))
  return `(${written.join(' ')})${formatParameters(parameters)}`
}

const patterns = {
  key: /([a-z*][a-z0-9_.*-]*)/y,
  equals: /=/y,
  comma: /[ \t]*,[ \t]*/y,
  semicolon: /; */y,
  open: /\( */y,
  close: / *\)/y,
  space: / +/y,
  string: /"((?:[ !#-[\]-~]|\\["\\])*)"/y,
  integer: /(-?\d{1,15})/y,
  yes: /\?1/y,
  bytes: /:([A-Za-z0-9+/]*={0,2}):/y,
} as const

type Cursor = ReturnType<typeof openCursor>

function openCursor(text: string, what: string) {
  let at = 0
  /** Matches a pattern at the present position. Returns undefined if the text there does not match. */
  function find(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at
    const match = pattern.exec(text) ?? undefined
    if (match) at = pattern.lastIndex
    return match
  }
  return {
    get isAtEnd() {
      return at === text.length
    },
    find,
    /** Matches a pattern at the present position. @throws Rejection if the text there does not match */
    take: (pattern: RegExp) => find(pattern) ?? refuseField(what, 'it does not have the form of its kind'),
  }
}

function parseDictionary<Value>(
  field: string,
  what: string,
  takeValue: (cursor: Cursor, what: string) => Value,
): ReadonlyMap<string, Value> {
  if (field.length > maxFieldLength) refuseField(what, 'it is too long')
  const cursor = openCursor(field.trim(), what)
  const members = new Map<string, Value>()
  do {
    const [, key = ''] = cursor.take(patterns.key)
    if (members.has(key)) refuseField(what, `"${key}" is repeated`)
    cursor.take(patterns.equals)
    members.set(key, takeValue(cursor, what))
  } while (!cursor.isAtEnd && cursor.take(patterns.comma))
  return members
}

function takeInnerList(cursor: Cursor, what: string): InnerList {
  const items: ListItem[] = []
  cursor.take(patterns.open)
  while (!cursor.find(patterns.close)) {
    if (items.length > 0) cursor.take(patterns.space)
    items.push({
      value: unescapeString(cursor.take(patterns.string)[1] ?? ''),
      parameters: takeParameters(cursor, what),
    })
  }
  return { items, parameters: takeParameters(cursor, what) }
}

function takeParameters(cursor: Cursor, what: string): Parameters {
  const parameters = new Map<string, ParameterValue>()
  while (cursor.find(patterns.semicolon)) {
    const [, key = ''] = cursor.take(patterns.key)
    if (parameters.has(key)) refuseField(what, `the parameter "${key}" is repeated`)
    parameters.set(key, cursor.find(patterns.equals) ? takeParameterValue(cursor) : true)
  }
  return parameters
}

function takeParameterValue(cursor: Cursor): ParameterValue {
  const string = cursor.find(patterns.string)
  if (string) return unescapeString(string[1] ?? '')
  return cursor.find(patterns.yes) ? true : Number(cursor.take(patterns.integer)[1])
}

function unescapeString(text: string): string {
  return text.replace(/\\(.)/g, '$1')
}

function formatString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function formatParameters(parameters: Parameters): string {
  let text = ''
  for (const [key, value] of parameters) text += value === true ? `;${key}` : `;${key}=${formatValue(value)}`
  return text
}

function formatValue(value: string | number): string {
  return typeof value === 'number' ? String(value) : formatString(value)
}

function refuseField(what: string, problem: string): never {
  throw new Rejection('signature_invalid', `Cannot verify activity: ${what} is invalid, ${problem}`)
}
