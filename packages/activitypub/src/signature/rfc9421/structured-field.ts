// Parses and formats the structured fields that carry HTTP signatures (RFC 8941).
import { Rejection } from '@postern/message'

/** The types of a parameter. Tokens, decimals and the other types of RFC 8941 have no meaning in a signature. */
type ParameterValue = string | number | true

export type FieldParameters = ReadonlyMap<string, ParameterValue>

/** A string with parameters. */
interface ListItem {
  readonly value: string
  readonly parameters: FieldParameters
}

export interface InnerList {
  readonly items: readonly ListItem[]
  readonly parameters: FieldParameters
}

const maxFieldChars = 8_192

/**
 * Parses a dictionary whose members are inner lists of strings (RFC 8941 §3.2), such as `Signature-Input`. It is stricter than the RFC: it
 * rejects repeated members, because two readers may use different ones. It takes linear time. `fieldName` names the field in errors.
 * @throws Rejection `signature_invalid`
 */
export function parseInnerLists(text: string, fieldName: string): ReadonlyMap<string, InnerList> {
  return parseDictionary(text, fieldName, parseInnerList)
}

/** Parses a dictionary of byte sequences, such as `Signature` and `Content-Digest`. @throws Rejection `signature_invalid` */
export function parseByteSequences(text: string, fieldName: string): ReadonlyMap<string, Uint8Array> {
  return parseDictionary(text, fieldName, ({ expect }) => Buffer.from(expect(patterns.bytes)[1] ?? '', 'base64'))
}

/** Formats an inner list in its canonical form (RFC 8941 §4.1.1.1). */
export function formatInnerList({ items, parameters }: InnerList): string {
  const formattedItems = items.map(item => formatString(item.value) + formatParameters(item.parameters))
  return `(${formattedItems.join(' ')})${formatParameters(parameters)}`
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
  booleanTrue: /\?1/y,
  bytes: /:([A-Za-z0-9+/]*={0,2}):/y,
} as const

type Cursor = ReturnType<typeof createCursor>

function createCursor(text: string, fieldName: string) {
  let position = 0
  /** Matches a pattern at the present position. Returns undefined if the text there does not match. */
  function match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = position
    const result = pattern.exec(text) ?? undefined
    if (result) position = pattern.lastIndex
    return result
  }
  return {
    get isAtEnd() {
      return position === text.length
    },
    match,
    /** Matches a pattern at the present position. @throws Rejection if the text there does not match */
    expect: (pattern: RegExp) => match(pattern) ?? refuseField(fieldName, 'it does not have the form of its kind'),
  }
}

function parseDictionary<Value>(
  field: string,
  fieldName: string,
  parseValue: (cursor: Cursor, fieldName: string) => Value,
): ReadonlyMap<string, Value> {
  if (field.length > maxFieldChars) refuseField(fieldName, 'it is too long')
  const cursor = createCursor(field.trim(), fieldName)
  const members = new Map<string, Value>()
  do {
    const [, key = ''] = cursor.expect(patterns.key)
    if (members.has(key)) refuseField(fieldName, `"${key}" is repeated`)
    cursor.expect(patterns.equals)
    members.set(key, parseValue(cursor, fieldName))
  } while (!cursor.isAtEnd && cursor.expect(patterns.comma))
  return members
}

function parseInnerList(cursor: Cursor, fieldName: string): InnerList {
  const items: ListItem[] = []
  cursor.expect(patterns.open)
  while (!cursor.match(patterns.close)) {
    if (items.length > 0) cursor.expect(patterns.space)
    items.push({
      value: unescapeString(cursor.expect(patterns.string)[1] ?? ''),
      parameters: parseParameters(cursor, fieldName),
    })
  }
  return { items, parameters: parseParameters(cursor, fieldName) }
}

function parseParameters(cursor: Cursor, fieldName: string): FieldParameters {
  const parameters = new Map<string, ParameterValue>()
  while (cursor.match(patterns.semicolon)) {
    const [, key = ''] = cursor.expect(patterns.key)
    if (parameters.has(key)) refuseField(fieldName, `the parameter "${key}" is repeated`)
    parameters.set(key, cursor.match(patterns.equals) ? parseParameterValue(cursor) : true)
  }
  return parameters
}

function parseParameterValue(cursor: Cursor): ParameterValue {
  const string = cursor.match(patterns.string)
  if (string) return unescapeString(string[1] ?? '')
  return cursor.match(patterns.booleanTrue) ? true : Number(cursor.expect(patterns.integer)[1])
}

function unescapeString(text: string): string {
  return text.replace(/\\(.)/g, '$1')
}

function formatString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function formatParameters(parameters: FieldParameters): string {
  let text = ''
  for (const [key, value] of parameters) text += value === true ? `;${key}` : `;${key}=${formatValue(value)}`
  return text
}

function formatValue(value: string | number): string {
  return typeof value === 'number' ? String(value) : formatString(value)
}

function refuseField(fieldName: string, problem: string): never {
  throw new Rejection('signature_invalid', `Cannot verify activity: ${fieldName} is invalid, ${problem}`)
}
