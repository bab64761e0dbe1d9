import { type Json, Rejection } from '@postern/core'
import type { z } from 'zod'
import { copyJson } from './copy.ts'
import { isJsonMap, type JsonMap } from './difference.ts'

/** `value` as a map of plain JSON. @throws Rejection malformed */
export function parseJsonMap(value: unknown, what: string): JsonMap {
  const copy = copyForeign(value, what)
  if (!isJsonMap(copy)) throw new Rejection('malformed', `Cannot read ${what}: not an object`)
  return copy
}

/** `value` checked by `schema`, as plain JSON. @throws Rejection malformed, naming the wrong members */
export function parseForeign<Foreign>(schema: z.ZodType<Foreign>, value: unknown, what: string): Foreign {
  const { error, data } = schema.safeParse(value)
  if (!error) return copyForeign(data, what) as Foreign
  const violations = error.issues.map(({ path, message }) => ({ field: path.join('.'), description: message }))
  const [first] = violations
  throw new Rejection('malformed', `Cannot read ${what}: ${first?.field || 'value'}: ${first?.description}`, {
    violations,
  })
}

function copyForeign(value: unknown, what: string): Json {
  try {
    return copyJson(value)
  } catch (cause) {
    throw new Rejection('malformed', `Cannot read ${what}: not JSON`, { cause })
  }
}
