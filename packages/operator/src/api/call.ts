// Formats the address of a call to the operator's API.
import { Rejection } from '@postern/message/errors'
import type { z } from 'zod'
import type { ApiOperation } from './operation.ts'
import { operatorBase } from './operation.ts'

type SchemaInput<Schema> = Schema extends z.ZodType ? Readonly<z.input<Schema>> : undefined

/** Makes members optional that may be undefined. */
type Input<Name extends string, Value> = undefined extends Value
  ? { readonly [Key in Name]?: Value }
  : { readonly [Key in Name]: Value }

/** The parameters, query and body of a call. */
export type OperationInput<Operation extends ApiOperation> = Input<'parameters', SchemaInput<Operation['parameters']>> &
  (Operation['query'] extends z.ZodType ? { readonly query?: SchemaInput<Operation['query']> } : unknown) &
  Input<'body', Operation['body'] extends { readonly schema: infer Schema } ? SchemaInput<Schema> : undefined>

type Members = Readonly<Record<string, unknown>>

/** Formats a segment of a path. @throws Rejection for `.` and `..`, which would change the path */
function formatSegment({ task }: ApiOperation, name: string, parameters: Members): string {
  const value = String(parameters[name])
  if (!/^\.{0,2}$/.test(value)) return encodeURIComponent(value)
  throw new Rejection('malformed', `Cannot ${task}: ${name} is ${value === '' ? 'empty' : `"${value}"`}`)
}

/** Formats the path and query of a call, without undefined members. @throws Rejection */
export function formatOperationPath<Operation extends ApiOperation>(
  operation: Operation,
  input: OperationInput<Operation>,
): string {
  const { parameters = {}, query = {} } = input as { readonly parameters?: Members; readonly query?: Members }
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => formatSegment(operation, name, parameters))
  const entries = Object.entries(query).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
    return values.map(item => [name, String(item)])
  })
  const search = entries.length > 0 ? `?${new URLSearchParams(entries)}` : ''
  return `${operatorBase}${path}${search}`
}

/** Assigns members to the path, the query and the body by their names. No operation uses one name twice. */
export function assignMembers<Operation extends ApiOperation>(
  operation: Operation,
  members: Members,
): OperationInput<Operation> {
  const { parameters, query, body } = operation as ApiOperation
  const pick = (schema: z.ZodType | undefined) =>
    schema && Object.fromEntries(Object.keys((schema as z.ZodObject).shape).map(name => [name, members[name]]))
  const input = { parameters: pick(parameters), query: pick(query), ...(body && { body: pick(body.schema) }) }
  return input as unknown as OperationInput<Operation>
}
