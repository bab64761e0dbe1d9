import type { FieldViolation } from '@postern/core'
import { Rejection } from '@postern/core'
import { parseBoundedJson, readBody } from '@postern/http'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { z } from 'zod'
import type { ApiOperation, OperationRequest, OperatorRoute } from './operation.ts'
import { operatorBase } from './operation.ts'

/** Every operation behind one check of who asks. @throws Error when two operations have one id or one place */
export function createOperationRouter(routes: readonly OperatorRoute[], authenticate: MiddlewareHandler): Hono {
  const router = new Hono().basePath(operatorBase).use(authenticate)
  const taken = new Set<string>()
  for (const { operation, run } of routes) {
    const { id, method, path } = operation
    for (const name of [id, `${method} ${path}`]) {
      if (taken.has(name)) throw new Error(`Cannot open the operator's API: two operations are "${name}"`)
      taken.add(name)
    }
    router.on(method, path.replace(/\{(\w+)\}/g, ':$1'), async context => {
      const answer = await run(await readOperationRequest(operation, context))
      return answer instanceof Response ? answer : context.json(answer as object)
    })
  }
  return router
}

/** Reads and checks what a request says. @throws Rejection `malformed`, `too_large`, `no_recipient` for a path that names nothing */
async function readOperationRequest(
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

interface DescribedIssue extends FieldViolation {
  /** Field and description in one. */
  readonly sentence: string
}

type Issue = z.core.$ZodIssue

/** More of them help nobody. */
const mostDescribed = 10

/** What is wrong with each member, in words that say what would be right. `known`: the members that there are. */
function describeIssues(error: z.ZodError, known: readonly string[] = []): readonly DescribedIssue[] {
  return error.issues.slice(0, mostDescribed).map(issue => {
    const field = issue.path.join('.')
    const description = describeIssue(issue, known)
    const isUnknown = issue.code === 'unrecognized_keys'
    return {
      field,
      description,
      sentence: isUnknown ? description : `${field === '' ? 'the body' : `"${field}"`} ${description}`,
    }
  })
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

function describeIssue(issue: Issue, known: readonly string[]): string {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue)
    case 'too_small':
      return describeBound(issue.origin, 'at least', issue.minimum)
    case 'too_big':
      return describeBound(issue.origin, 'at most', issue.maximum)
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`
    case 'invalid_union':
      return describeUnion(issue)
    case 'unrecognized_keys':
      return describeUnknown(issue, known)
    default:
      // A schema of ours says it itself.
      return issue.message
  }
}

function describeType({ input, message, expected }: z.core.$ZodIssueInvalidType): string {
  const isMissing = input === undefined && message.endsWith('undefined')
  return isMissing ? 'is missing' : `must be ${typeNames[expected] ?? expected}`
}

/** zod names the words that decide between the alternatives in its message alone. */
function describeUnion({ discriminator, message }: z.core.$ZodIssueInvalidUnion): string {
  const [, words] = message.split('Expected ')
  if (discriminator === undefined || words === undefined) return 'has none of the forms that there are'
  return `must be one of ${words.replaceAll("'", '').replaceAll(' | ', ', ')}`
}

function describeUnknown({ keys, path }: z.core.$ZodIssueUnrecognizedKeys, known: readonly string[]): string {
  const names = keys.slice(0, 5).map(key => `"${key.slice(0, 100)}"`)
  const fix = path.length === 0 && known.length > 0 ? `use ${known.join(', ')}` : 'leave it out'
  return `there is no member ${names.join(', ')}; ${fix}`
}

function describeBound(origin: string, words: string, bound: number | bigint): string {
  if (origin === 'string') return `must have ${words} ${countOf(bound, 'character', 'characters')}`
  if (origin === 'array') return `must have ${words} ${countOf(bound, 'entry', 'entries')}`
  return `must be ${words} ${bound}`
}

function countOf(count: number | bigint, one: string, many: string): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
