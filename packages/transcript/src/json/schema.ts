// Validates foreign JSON and names the invalid members in the error.
import type { Json } from '@postern/message'
import { Rejection } from '@postern/message'
import { z } from 'zod'
import type { JsonDifference, JsonMap } from './difference.ts'
import { copyJson, isJsonDifference, isJsonMap } from './difference.ts'

/** A schema for any JSON value and nothing else. Every member stays, whatever its name. */
export const jsonSchema = z.custom<Json>(isJson, 'must be JSON')
/** A schema for a JSON object, which excludes lists. */
export const jsonMapSchema = z.custom<Record<string, Json>>(
  (value): value is JsonMap => isJsonMap(value) && isJson(value),
  'must be a JSON object',
)

/** A schema for a difference that `patchJson` accepts. */
export const jsonDifferenceSchema = z.custom<JsonDifference>(
  value => isJson(value) && isJsonDifference(value),
  'must be a difference',
)

function isJson(value: unknown): value is Json {
  try {
    copyJson(value)
    return true
  } catch {
    return false
  }
}

/** Parses `value` as a map of plain JSON. @throws Rejection malformed */
export function parseJsonMap(value: unknown, label: string): JsonMap {
  const copy = copyForeign(value, label)
  if (!isJsonMap(copy)) throw new Rejection('malformed', `Cannot read ${label}: not an object`)
  return copy
}

/** Validates `value` against `schema` and returns it as plain JSON. @throws Rejection malformed, naming the invalid members */
export function parseForeign<Foreign>(schema: z.ZodType<Foreign>, value: unknown, label: string): Foreign {
  const { error, data } = schema.safeParse(value)
  if (!error) return copyForeign(data, label) as Foreign
  const violations = error.issues.map(({ path, message }) => ({ field: path.join('.'), description: message }))
  const [firstViolation] = violations
  throw new Rejection(
    'malformed',
    `Cannot read ${label}: ${firstViolation?.field || 'value'}: ${firstViolation?.description}`,
    {
      violations,
    },
  )
}

function copyForeign(value: unknown, label: string): Json {
  try {
    return copyJson(value)
  } catch (cause) {
    throw new Rejection('malformed', `Cannot read ${label}: not JSON`, { cause })
  }
}
