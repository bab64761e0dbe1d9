import type { Json } from '@postern/core'
import { z } from 'zod'
import { copyJson } from './copy.ts'
import { isJsonDifference, isJsonMap, type JsonDifference, type JsonMap } from './difference.ts'

/** Anything JSON can hold, and nothing else; every member stays, whatever its name. */
export const jsonSchema = z.custom<Json>(isJson, 'must be JSON')
/** A JSON object; a list is none. */
export const jsonMapSchema = z.custom<Record<string, Json>>(
  (value): value is JsonMap => isJsonMap(value) && isJson(value),
  'must be a JSON object',
)

/** What `patchJson` takes. */
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
