import type { RejectionCode } from '@postern/core'
import { parseJsonText, Rejection, rejectionCodes, Unavailable } from '@postern/core'
import { toProblem } from '@postern/http'
import { z } from 'zod'
import { softwareVersion } from '../platform/version.ts'
import type { ApiOperation, OperatorRoute } from './operation.ts'
import { defineOperation, handleOperation, operatorBase } from './operation.ts'

/** As much of JSON Schema 2020-12 as is written here. */
type SchemaNode = Readonly<Record<string, unknown>>

interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly security: readonly object[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  readonly components: { readonly schemas: Readonly<Record<string, SchemaNode>>; readonly securitySchemes: object }
}

/** The OpenAPI 3.1 document of operations (OpenAPI Specification 3.1.0). */
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
      description: 'What an operator sees and decides: messages, deliveries, refusals, people, requirements.',
    },
    servers: [{ url: base }],
    security: [{ operatorToken: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1))),
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

function listParameters(object: z.ZodObject | undefined, place: 'path' | 'query'): readonly object[] {
  return Object.entries(object?.shape ?? {}).map(([name, schema]) => {
    const { description, ...node } = writeSchema(schema as z.ZodType, 'input', { schemas: {}, prefix: name })
    const isRequired = place === 'path' || !(schema as z.ZodType).safeParse(undefined).success
    return { name, in: place, required: isRequired, ...(description !== undefined && { description }), schema: node }
  })
}

function describeResponses(operation: ApiOperation, schemas: Definitions): object {
  const { id, answer, media, refusals = {}, body } = operation
  const answers = media ?? (answer ? { 'application/json': answer } : {})
  const content = Object.entries(answers).map(([type, schema]) => {
    return [type, { schema: writeSchema(schema, 'output', { schemas, prefix: id }) }] as const
  })
  const problems: readonly (readonly [number, string])[] = [
    [400, 'What is asked is not well formed.'],
    [401, 'The operator token is missing or wrong.'],
    ...(body ? [[413, 'The body is too large.'] as const] : []),
    ...Object.entries(refusals).map(([code, when]) => [statusOf(code as RejectionCode), when] as const),
  ]
  const problem = {
    'application/problem+json': { schema: writeSchema(problemSchema, 'output', { schemas, prefix: id }) },
  }
  const grouped = Map.groupBy(problems, ([status]) => status)
  const failures = [...grouped].map(([status, rows]) => {
    return [status, { description: rows.map(([, when]) => when).join(' '), content: problem }] as const
  })
  return {
    200: { description: 'Done.', content: Object.fromEntries(content) },
    ...Object.fromEntries(failures),
  }
}

function statusOf(code: RejectionCode | 'unavailable'): number {
  return toProblem(code === 'unavailable' ? new Unavailable('') : new Rejection(code, '')).status
}

interface SchemaPlace {
  /** Of the document; named schemas are added. */
  readonly schemas: Definitions
  /** Makes names of what has none unique. */
  readonly prefix: string
}

/** A schema as a node of the document; what has a name of its own (`.meta({ id })`) stands in `schemas`. */
function writeSchema(schema: z.ZodType, io: 'input' | 'output', { schemas, prefix }: SchemaPlace): SchemaNode {
  const written = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Readonly in TypeScript only.
      delete jsonSchema.readOnly
    },
  })
  const text = JSON.stringify(written).replaceAll(/"#\/\$defs\/(__)?/g, (_, isUnnamed?: string) => {
    return `"#/components/schemas/${isUnnamed ? `${prefix}_` : ''}`
  })
  const { $schema, $defs = {}, ...node } = parseJsonText(text) as SchemaNode & { readonly $defs?: Definitions }
  for (const [name, { id, ...definition }] of Object.entries($defs)) {
    schemas[name.replace(/^__/, `${prefix}_`)] = definition
  }
  return node
}

/** What is answered when something is refused (RFC 9457). */
const problemSchema = z
  .object({
    title: z.string().describe('The words of the status.'),
    status: z.int(),
    detail: z.string().optional().describe('What could not be done, why, and what would be right.'),
    code: z.enum([...rejectionCodes, 'unavailable']).optional(),
    violations: z
      .array(z.object({ field: z.string(), description: z.string() }))
      .optional()
      .describe('Each member of the request that is wrong.'),
  })
  .meta({ id: 'Problem' })

export const readDocument = defineOperation({
  id: 'readDocument',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Describes these operations (OpenAPI 3.1).',
  task: 'describe operations',
  answer: z.looseObject({ openapi: z.string() }),
})

/** The OpenAPI document of all operations, itself among them; written when it is first asked for. */
export function createDocumentRoute(routes: readonly OperatorRoute[]): OperatorRoute {
  let document: ReturnType<typeof describeOperations> | undefined
  return handleOperation(readDocument, async () => {
    const operations = [...routes.map(({ operation }) => operation), readDocument]
    document ??= describeOperations(operations, { version: softwareVersion, base: operatorBase })
    return { ...document }
  })
}
