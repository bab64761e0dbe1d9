import { maxUrlLength } from '@postern/core'

/** A JSON object read by literal names; what a peer's `@context` says about them is never evaluated. */
export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** A string with something in it. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** AS2 allows one value without its array. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** The only value, alone or in a list of one; undefined when there are none or several. */
export function onlyOf(value: unknown): unknown {
  const values = listOf(value)
  return values.length === 1 ? values[0] : undefined
}

/** The IRI of a reference, or of an embedded object. */
export function idOf(value: unknown): string | undefined {
  const id = textOf(value) ?? textOf(asObject(value)?.id)
  return id && id.length <= maxUrlLength ? id : undefined
}

/** The IRIs of a list; entries that name nothing are left out. */
export function idsOf(value: unknown): readonly string[] {
  return listOf(value)
    .map(idOf)
    .filter(id => id !== undefined)
}

/** The one type of a document; several types at once have no meaning we could act on. */
export function typeOf(value: unknown): string | undefined {
  return textOf(onlyOf(asObject(value)?.type))
}
