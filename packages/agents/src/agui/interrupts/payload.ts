// Reads the JSON that answers a server's question. The schema of the question determines how a text is read.
import type { Json, NormalizedMessage, Part } from '@postern/message'
import { isJsonObject, parseIfJson } from '@postern/message'

type Schema = { readonly [name: string]: unknown }

/** Returns the value with which a message answers. `text` is the text of its parts. */
export function readPayload(
  message: Pick<NormalizedMessage, 'parts' | 'received_via' | 'raw'>,
  text: string,
  schema: Json | undefined,
): Json {
  const values = message.parts.flatMap(readDataPart)
  if (values.length > 0) return values.length === 1 ? (values[0] ?? null) : values
  const resumePayload = readResumePayload(message)
  if (resumePayload !== undefined) return resumePayload
  const parsedText = isJsonObject(schema) ? (parseIfJson(text) as Json | undefined) : undefined
  return parsedText !== undefined && isRequestedType(parsedText, schema as Schema) ? parsedText : text
}

/** Reads the data part of another agent's message. */
function readDataPart(part: Part): readonly Json[] {
  return part.kind === 'artifact' && part.data !== undefined ? [part.data] : []
}

/** Reads the payload with which a client of the chat resumes the run, if it is more than a text. */
function readResumePayload({ received_via, raw }: Pick<NormalizedMessage, 'received_via' | 'raw'>): Json | undefined {
  if (received_via !== 'web' || !isJsonObject(raw) || !Array.isArray(raw.resume)) return undefined
  const [entry, ...otherEntries] = raw.resume as readonly unknown[]
  const payload = isJsonObject(entry) && otherEntries.length === 0 ? entry.payload : undefined
  return typeof payload === 'string' || payload === undefined ? undefined : (payload as Json)
}

/** Returns true if the schema asks for a value of this type; otherwise the answer stays a text. */
function isRequestedType(value: Json, schema: Schema): boolean {
  const types = listTypes(schema)
  return types.has(typeOf(value)) || (Number.isInteger(value) && types.has('integer'))
}

const maxDepth = 3

function listTypes(schema: Schema, depth = 0): ReadonlySet<string> {
  const { type, properties, items, enum: values, const: value, anyOf, oneOf } = schema
  const branches = [anyOf, oneOf].flatMap(list => (Array.isArray(list) && depth < maxDepth ? list : []))
  const members = [...(Array.isArray(values) ? values : []), ...(value === undefined ? [] : [value])]
  const typeNames = [type].flat().filter(name => typeof name === 'string')
  return new Set([
    ...typeNames,
    ...(typeNames.length === 0 ? members.map(member => typeOf(member as Json)) : []),
    ...(typeNames.length === 0 && properties !== undefined ? ['object'] : []),
    ...(typeNames.length === 0 && items !== undefined ? ['array'] : []),
    ...branches.flatMap(branch => (isJsonObject(branch) ? [...listTypes(branch, depth + 1)] : [])),
  ])
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
