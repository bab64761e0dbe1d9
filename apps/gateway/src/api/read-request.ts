import { Rejection } from '@postern/core'
import { parseBoundedJson, readBody } from '@postern/http'
import type { Context } from 'hono'
import type { z } from 'zod'
import { describeIssues } from './describe-issues.ts'
import type { ApiOperation, OperationRequest } from './operation.ts'

/** Reads and checks what a request says. @throws Rejection `malformed`, `too_large`, `no_recipient` for a path that names nothing */
export async function readOperationRequest(
  operation: ApiOperation,
  context: Context,
): Promise<OperationRequest<ApiOperation>> {
  return {
    parameters: readParameters(operation, context),
    query: readQuery(operation, context),
    body: (await readJson(operation, context)) as undefined,
    context,
  }
}

function readParameters(
  { parameters, task }: ApiOperation,
  { req }: Context,
): OperationRequest<ApiOperation>['parameters'] {
  if (!parameters) return undefined
  const parsed = parameters.safeParse(req.param())
  if (parsed.success) return parsed.data
  const [{ sentence } = { sentence: '' }] = describeIssues(parsed.error)
  throw new Rejection('no_recipient', `Cannot ${task}: ${sentence}`)
}

function readQuery({ query, task }: ApiOperation, { req }: Context): OperationRequest<ApiOperation>['query'] {
  const shape = query?.shape ?? {}
  const given = req.queries()
  const known = Object.keys(shape)
  const unknown = Object.keys(given).find(name => !Object.hasOwn(shape, name))
  if (unknown !== undefined) {
    const listed = known.length === 0 ? 'it takes none' : `use ${known.join(', ')}`
    throw new Rejection('malformed', `Cannot ${task}: there is no parameter "${unknown.slice(0, 100)}"; ${listed}`)
  }
  if (!query) return undefined
  const values = Object.entries(given).map(([name, texts]) => {
    const kind = kindOf(shape[name] as z.ZodType)
    if (kind === 'array') return [name, texts] as const
    if (texts.length > 1) throw new Rejection('malformed', `Cannot ${task}: "${name}" is given more than once`)
    return [name, readValue(texts[0] ?? '', kind)] as const
  })
  return parseOrRefuse(query, Object.fromEntries(values), task) as OperationRequest<ApiOperation>['query']
}

/** Numbers and booleans as JSON would have them; anything else stays text, and its schema refuses it. */
function readValue(text: string, kind: string): unknown {
  if (kind === 'number' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

function kindOf(schema: z.ZodType): string {
  const { type, innerType } = schema.def as { readonly type: string; readonly innerType?: z.ZodType }
  return innerType ? kindOf(innerType) : type
}

async function readJson({ body, task }: ApiOperation, { req }: Context): Promise<unknown> {
  if (!body) return undefined
  const { schema, maxBytes = 65_536, maxDepth = 4, isOptional } = body
  const bytes = await readBody(req.raw, maxBytes)
  const value = isOptional && bytes.length === 0 ? {} : parseBoundedJson(bytes, { maxDepth, what: 'request' })
  return parseOrRefuse(schema, isOptional ? (value ?? {}) : value, task)
}

function namesOf(schema: z.ZodType): readonly string[] {
  return Object.keys((schema as Partial<z.ZodObject>).shape ?? {})
}

/** @throws Rejection `malformed`, with a sentence for each member that is wrong */
function parseOrRefuse(schema: z.ZodType, value: unknown, task: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = describeIssues(parsed.error, namesOf(schema))
  const violations = issues.map(({ field, description }) => ({ field, description }))
  throw new Rejection('malformed', `Cannot ${task}: ${issues[0]?.sentence}`, { violations })
}
