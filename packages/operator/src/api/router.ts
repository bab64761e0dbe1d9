// Routes requests to operations: authentication, parsing, and masking of answers.
import { parseBoundedJson, readBody } from '@postern/http'
import type { FieldViolation } from '@postern/message'
import { describeRule, Rejection } from '@postern/message'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { z } from 'zod'
import type { ApiOperation, OperationRequest, OperatorRoute } from './operation.ts'
import { operatorBase } from './operation.ts'

/** Hides the secrets of the configuration in answers. */
export interface AnswerMask {
  hideInAll<Value>(value: Value): Value
  /** Hides secrets in the lines of an answer as they arrive. */
  hideInResponse(response: Response): Response
  /** Returns the same error if it quotes no secret, otherwise a masked error of its class. */
  hideInError(error: unknown): unknown
}

const noMask: AnswerMask = {
  hideInAll: value => value,
  hideInResponse: response => response,
  hideInError: error => error,
}

export interface OperationRouterOptions {
  /** Admits only the operator. */
  readonly authenticate: MiddlewareHandler
  /** Masks the secrets of the configuration in answers; default: no secrets. */
  readonly mask?: AnswerMask | undefined
}

/** Mounts the operations behind one authentication. @throws Error if two operations have one id or one path */
export function createOperationRouter(
  routes: readonly OperatorRoute[],
  { authenticate, mask = noMask }: OperationRouterOptions,
): Hono {
  const router = new Hono().basePath(operatorBase).use(authenticate)
  const routeNames = new Set<string>()
  for (const { operation, run } of routes) {
    const { id, method, path } = operation
    for (const name of [id, `${method} ${path}`]) {
      if (routeNames.has(name)) throw new Error(`Cannot open the operator's API: two operations are "${name}"`)
      routeNames.add(name)
    }
    router.on(method, path.replace(/\{(\w+)\}/g, ':$1'), async context => {
      const answer = await run(await readOperationRequest(operation, context))
      if (!(answer instanceof Response)) return context.json(mask.hideInAll(answer as object))
      return operation.isUnmasked ? answer : mask.hideInResponse(answer)
    })
  }
  // The server turns the error into a problem answer, as it does with all errors.
  router.onError(error => {
    throw mask.hideInError(error)
  })
  return router
}

/** Parses and checks a request. @throws Rejection `malformed`, `too_large`, `no_recipient` for an invalid path */
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
  const queries = req.queries()
  const validNames = Object.keys(shape)
  const unknownName = Object.keys(queries).find(name => !Object.hasOwn(shape, name))
  if (unknownName !== undefined) {
    const hint = validNames.length === 0 ? 'it takes none' : `use ${validNames.join(', ')}`
    throw new Rejection('malformed', `Cannot ${task}: there is no parameter "${unknownName.slice(0, 100)}"; ${hint}`)
  }
  if (!query) return undefined
  const values = Object.entries(queries).map(([name, texts]) => {
    const kind = kindOf(shape[name] as z.ZodType)
    if (kind === 'array') return [name, texts] as const
    if (texts.length > 1) throw new Rejection('malformed', `Cannot ${task}: "${name}" is given more than once`)
    return [name, readValue(texts[0] ?? '', kind)] as const
  })
  return parseOrRefuse(query, Object.fromEntries(values), task) as OperationRequest<ApiOperation>['query']
}

/** Parses numbers and booleans. Anything else stays text, which the schema refuses. */
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
  const value = isOptional && bytes.length === 0 ? {} : parseBoundedJson(bytes, { maxDepth, label: 'request' })
  return parseOrRefuse(schema, isOptional ? (value ?? {}) : value, task)
}

function namesOf(schema: z.ZodType): readonly string[] {
  return Object.keys((schema as Partial<z.ZodObject>).shape ?? {})
}

/** Parses a value. @throws Rejection `malformed`, with a sentence for each invalid member */
function parseOrRefuse(schema: z.ZodType, value: unknown, task: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = describeIssues(parsed.error, namesOf(schema))
  const violations = issues.map(({ field, description }) => ({ field, description }))
  throw new Rejection('malformed', `Cannot ${task}: ${issues[0]?.sentence}`, { violations })
}

interface DescribedIssue extends FieldViolation {
  /** The field and its description in one sentence. */
  readonly sentence: string
}

/** The maximum number of errors that an answer describes. */
const maxDescribedIssues = 10

/** Describes the error of each member with its fix. `validNames` lists the existing members. */
function describeIssues(error: z.ZodError, validNames: readonly string[] = []): readonly DescribedIssue[] {
  return error.issues.slice(0, maxDescribedIssues).map(issue => {
    const field = issue.path.join('.')
    const description = describeRule(issue, validNames)
    const isUnknown = issue.code === 'unrecognized_keys'
    return {
      field,
      description,
      sentence: isUnknown ? description : `${field === '' ? 'the body' : `"${field}"`} ${description}`,
    }
  })
}
