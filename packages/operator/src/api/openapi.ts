// Writes the OpenAPI document of the operator's API from its operations.
import { toProblem } from '@postern/http'
import type { RejectionCode } from '@postern/message'
import { parseJsonText, Rejection, rejectionCodes, Unavailable } from '@postern/message'
import { z } from 'zod'
import type { ApiOperation, OperatorRoute } from './operation.ts'
import { defineOperation, handleOperation, operatorBase } from './operation.ts'

/** A node of JSON Schema 2020-12. */
type SchemaNode = Readonly<Record<string, unknown>>

interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly security: readonly object[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  readonly components: { readonly schemas: Readonly<Record<string, SchemaNode>>; readonly securitySchemes: object }
}

/** Writes the OpenAPI 3.1 document of operations (OpenAPI Specification 3.1.0). */
function describeOperations(
  operations: readonly ApiOperation[],
  { version, base }: { readonly version: string; readonly base: string },
): OpenApiDocument {
  const schemas: Record<string, SchemaNode> = {}
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describeOperation(operation, schemas),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: "Postern operator's API",
      version,
      description: 'Messages, deliveries, refusals, people and requirements, for operators to see and decide.',
    },
    servers: [{ url: base }],
    security: [{ operatorToken: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { operatorToken: { type: 'http', scheme: 'bearer' } },
    },
  }
}

type Definitions = Record<string, SchemaNode>

function describeOperation(operation: ApiOperation, schemas: Definitions): object {
  const { id, path, summary, body, parameters, query } = operation
  const [, tag = ''] = path.split('/')
  return {
    operationId: id,
    tags: [tag],
    summary,
    parameters: [...listParameters(parameters, 'path'), ...listParameters(query, 'query')],
    ...(body && {
      requestBody: {
        required: body.isOptional !== true,
        content: { 'application/json': { schema: writeSchema(body.schema, 'input', { schemas, prefix: id }) } },
      },
    }),
    responses: describeResponses(operation, schemas),
  }
}

function listParameters(object: z.ZodObject | undefined, location: 'path' | 'query'): readonly object[] {
  return Object.entries(object?.shape ?? {}).map(([name, schema]) => {
    const { description, ...node } = writeSchema(schema as z.ZodType, 'input', { schemas: {}, prefix: name })
    const isRequired = location === 'path' || !(schema as z.ZodType).safeParse(undefined).success
    return { name, in: location, required: isRequired, ...(description !== undefined && { description }), schema: node }
  })
}

function describeResponses(operation: ApiOperation, schemas: Definitions): object {
  const { id, answer, mediaTypes, refusals = {}, body } = operation
  const answers = mediaTypes ?? (answer ? { 'application/json': answer } : {})
  const content = Object.entries(answers).map(([type, schema]) => {
    return [type, { schema: writeSchema(schema, 'output', { schemas, prefix: id }) }] as const
  })
  const problems: readonly (readonly [number, string])[] = [
    [400, 'The request is malformed.'],
    [401, 'The operator token is missing or wrong.'],
    ...(body ? [[413, 'The body is too large.'] as const] : []),
    ...Object.entries(refusals).map(([code, description]) => [statusOf(code as RejectionCode), description] as const),
  ]
  const problem = {
    'application/problem+json': { schema: writeSchema(problemSchema, 'output', { schemas, prefix: id }) },
  }
  const problemsByStatus = Map.groupBy(problems, ([status]) => status)
  const failures = [...problemsByStatus].map(([status, rows]) => {
    return [status, { description: rows.map(([, description]) => description).join(' '), content: problem }] as const
  })
  return {
    200: { description: 'Done.', content: Object.fromEntries(content) },
    ...Object.fromEntries(failures),
  }
}

function statusOf(code: RejectionCode | 'unavailable'): number {
  return toProblem(code === 'unavailable' ? new Unavailable('') : new Rejection(code, '')).status
}

interface SchemaContext {
  /** The named schemas of the document, to which writing adds. */
  readonly schemas: Definitions
  /** The prefix of the names that unnamed schemas get. */
  readonly prefix: string
}

/** Writes a schema as a node of the document. It adds schemas that have a name (`.meta({ id })`) to `schemas`. */
function writeSchema(schema: z.ZodType, io: 'input' | 'output', { schemas, prefix }: SchemaContext): SchemaNode {
  const zodSchema = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // `readonly` has a meaning in TypeScript only.
      delete jsonSchema.readOnly
    },
  })
  const text = JSON.stringify(zodSchema).replaceAll(/"#\/\$defs\/(__)?/g, (_, isUnnamed?: string) => {
    return `"#/components/schemas/${isUnnamed ? `${prefix}_` : ''}`
  })
  const { $schema, $defs = {}, ...node } = parseJsonText(text) as SchemaNode & { readonly $defs?: Definitions }
  for (const [name, { id, ...definition }] of Object.entries($defs)) {
    schemas[name.replace(/^__/, `${prefix}_`)] = definition
  }
  return node
}

/** The answer to a refused request (RFC 9457). */
const problemSchema = z
  .object({
    title: z.string().describe('Reason phrase of the status.'),
    status: z.int(),
    detail: z.string().optional().describe('The failed task, the cause and the fix.'),
    code: z.enum([...rejectionCodes, 'unavailable']).optional(),
    violations: z
      .array(z.object({ field: z.string(), description: z.string() }))
      .optional()
      .describe('Each invalid member of the request.'),
  })
  .meta({ id: 'Problem' })

const readDocument = defineOperation({
  id: 'readDocument',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Describes these operations (OpenAPI 3.1).',
  task: 'describe operations',
  answer: z.looseObject({ openapi: z.string() }),
})

/** Creates the route of the document, which includes itself. The first request writes it. */
export function createDocumentRoute(routes: readonly OperatorRoute[], version: string): OperatorRoute {
  let document: ReturnType<typeof describeOperations> | undefined
  return handleOperation(readDocument, async () => {
    const operations = [...routes.map(({ operation }) => operation), readDocument]
    document ??= describeOperations(operations, { version, base: operatorBase })
    return { ...document }
  })
}
