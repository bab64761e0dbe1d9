import { Rejection } from '@postern/core'
import { parseBoundedJson, readBody } from '@postern/http'
import type { Context } from 'hono'
import type { z } from 'zod'

interface RequestReading {
  /** The sentence for what does not fit; `path`: the member that does not. */
  readonly problem: string | ((path: string) => string)
  readonly maxBytes?: number
  readonly maxDepth?: number
}

/** The JSON an operator sent. @throws Rejection `malformed`, `too_large` */
export async function readOperatorRequest<Schema extends z.ZodType>(
  context: Context,
  schema: Schema,
  { problem, maxBytes = 65_536, maxDepth = 4 }: RequestReading,
): Promise<z.output<Schema>> {
  const bytes = await readBody(context.req.raw, maxBytes)
  const parsed = schema.safeParse(parseBoundedJson(bytes, { maxDepth, what: 'request' }))
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.') ?? ''
  throw new Rejection('malformed', typeof problem === 'string' ? problem : problem(path))
}
