// Reads members of ActivityStreams documents by their literal names.
import { maxUrlLength } from '@postern/message'

/** A JSON object that is read by literal names. The `@context` of a peer is never evaluated. */
export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** Returns the value if it is a string that is not empty, else undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns the values of a member as a list. AS2 allows one value without its array. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** Returns the only value, alone or in a list of one, or undefined if there are none or several. */
export function onlyOf(value: unknown): unknown {
  const values = listOf(value)
  return values.length === 1 ? values[0] : undefined
}

/** Returns the IRI of a reference, or of an embedded object. */
export function idOf(value: unknown): string | undefined {
  const id = textOf(value) ?? textOf(asObject(value)?.id)
  return id && id.length <= maxUrlLength ? id : undefined
}

/** Returns the IRIs of a list, without entries that name nothing. */
export function idsOf(value: unknown): readonly string[] {
  return listOf(value)
    .map(idOf)
    .filter(id => id !== undefined)
}

/** Returns the type of a document, or undefined if it has none or several. */
export function typeOf(value: unknown): string | undefined {
  return textOf(onlyOf(asObject(value)?.type))
}

/** Returns an address that is written as text or as a Link. */
export function readHref(value: unknown): string | undefined {
  return textOf(value) ?? textOf(asObject(value)?.href)
}
