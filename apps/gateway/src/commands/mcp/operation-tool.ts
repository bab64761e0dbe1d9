import { z } from 'zod'
import type { ApiOperation } from '../../api/operation.ts'
import type { OperatorClient } from '../client.ts'
import { CommandError } from '../client.ts'

/** A tool as MCP lists it (MCP 2025-11-25, server/tools). */
interface ListedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: { readonly type: 'object'; readonly [keyword: string]: unknown }
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean }
}

/** Members of the path, of the query and of the body, side by side: no operation has one name twice. */
function shapeOf({ parameters, query, body }: ApiOperation): Readonly<Record<string, z.ZodType>> {
  return { ...parameters?.shape, ...query?.shape, ...(body?.schema as z.ZodObject | undefined)?.shape }
}

export function listOperationTool([name, operation]: readonly [string, ApiOperation]): ListedTool {
  const { $schema, ...schema } = z.toJSONSchema(z.strictObject(shapeOf(operation)), {
    io: 'input',
    unrepresentable: 'any',
  })
  const isReading = operation.method === 'GET'
  return {
    name,
    description: operation.summary,
    inputSchema: { ...schema, type: 'object' },
    annotations: { readOnlyHint: isReading, destructiveHint: false },
  }
}

/** Asks the gateway what a tool is called with. @throws CommandError, in words for who called */
export async function callOperationTool(
  client: OperatorClient,
  operation: ApiOperation,
  given: unknown,
): Promise<unknown> {
  const read = z.strictObject(shapeOf(operation)).safeParse(given ?? {})
  if (!read.success) throw new CommandError(`Cannot ${operation.task}: ${describeIssues(read.error)}`)
  const { parameters, query, body } = operation
  const pick = (schema: z.ZodType | undefined) =>
    schema &&
    Object.fromEntries(Object.keys((schema as z.ZodObject).shape).map(name => [name, readMember(given, name)]))
  const input = { parameters: pick(parameters), query: pick(query), ...(body && { body: pick(body.schema) }) }
  return client.call(operation, input as never)
}

/** As it was given: defaults are the gateway's. */
function readMember(given: unknown, name: string): unknown {
  return (given as Readonly<Record<string, unknown>> | undefined)?.[name]
}

function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ')
}
