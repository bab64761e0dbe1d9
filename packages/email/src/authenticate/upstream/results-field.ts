/** One method of an `Authentication-Results` field and what came of it. All in lower case. */
export interface MethodResult {
  readonly method: string
  readonly result: string
  /** `header.from` and the like. */
  readonly properties: ReadonlyMap<string, string>
}

interface ResultsField {
  /** As it is written. */
  readonly authservId: string
  readonly results: readonly MethodResult[]
}

const quoted = String.raw`"(?:[^"\\]|\\.)*"`
const idPattern = /^\s*([^\s;="()]+)(?:\s+1)?\s*;/
const methodPattern = /^\s*([a-z][\w-]*)(?:\s*\/\s*1)?\s*=\s*([a-z]+)(?=\s|$)/i
const propertyPattern = new RegExp(String.raw`\s*([\w.-]+)\s*=\s*((?:${quoted}|[^\s"])+)(?=\s|$)`, 'y')
const piecePattern = new RegExp(`(?:${quoted}|[^;"])+`, 'g')
const outsidePattern = new RegExp(String.raw`${quoted}|[^"()\\]+|\(`, 'y')
const insidePattern = /\\.|[^()\\]+|[()]/y
const depthChanges: Readonly<Record<string, number>> = { '(': 1, ')': -1 }
/** More than a server has to say. */
const maxField = 16 * 1024

/**
 * Reads a field by RFC 8601 §2.2, version 1; undefined for any other form. The identifier is taken literally. In quotes
 * or with comments, the named server might not recognize it as its own and leave it in a mail.
 */
export function readResultsField(value: string): ResultsField | undefined {
  if (value.length > maxField) return undefined
  const id = idPattern.exec(value)?.[1]
  const bare = withoutComments(value)
  if (id === undefined || bare === undefined) return undefined
  const [, ...rest] = splitAtSemicolons(bare)
  const written = rest.filter(text => text.trim() !== '' && text.trim().toLowerCase() !== 'none')
  const results = written.flatMap(text => readMethod(text) ?? [])
  if (results.length < written.length) return undefined
  return { authservId: id, results }
}

function readMethod(text: string): MethodResult | undefined {
  const [whole = '', method = '', result = ''] = methodPattern.exec(text) ?? []
  if (!whole) return undefined
  const properties = new Map<string, string>()
  propertyPattern.lastIndex = whole.length
  let end = whole.length
  for (let found = propertyPattern.exec(text); found; found = propertyPattern.exec(text)) {
    const [, name = '', value = ''] = found
    properties.set(name.toLowerCase(), unquote(value))
    end = propertyPattern.lastIndex
  }
  return text.slice(end).trim() === ''
    ? { method: method.toLowerCase(), result: result.toLowerCase(), properties }
    : undefined
}

function unquote(text: string): string {
  return (text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text).toLowerCase()
}

/** Each comment becomes a space; undefined where one has no end, or a quoted string has none. */
function withoutComments(value: string): string | undefined {
  let [depth, at, kept] = [0, 0, '']
  while (at < value.length) {
    const pattern = depth > 0 ? insidePattern : outsidePattern
    pattern.lastIndex = at
    const piece = pattern.exec(value)?.[0]
    if (!piece) return undefined
    at += piece.length
    depth += depthChanges[piece] ?? 0
    if (depth === 0) kept += piece === ')' ? ' ' : piece
  }
  return depth === 0 ? kept : undefined
}

function splitAtSemicolons(text: string): readonly string[] {
  return text.match(piecePattern) ?? []
}
