import { Rejection } from '@postern/core/errors'
import type { z } from 'zod'
import type { ApiOperation } from './operation.ts'
import { operatorBase } from './operation.ts'

type Given<Schema> = Schema extends z.ZodType ? Readonly<z.input<Schema>> : undefined
/** Members that may be undefined need not be there. */
type Input<Name extends string, Value> = undefined extends Value
  ? { readonly [Key in Name]?: Value }
  : { readonly [Key in Name]: Value }

/** What a caller gives an operation. */
export type OperationInput<Of extends ApiOperation> = Input<'parameters', Given<Of['parameters']>> &
  (Of['query'] extends z.ZodType ? { readonly query?: Given<Of['query']> } : unknown) &
  Input<'body', Of['body'] extends { readonly schema: infer Schema } ? Given<Schema> : undefined>

type Members = Readonly<Record<string, unknown>>

/** @throws Rejection for what no path can hold: it would be another path */
function formatSegment({ task }: ApiOperation, name: string, parameters: Members): string {
  const value = String(parameters[name])
  if (!/^\.{0,2}$/.test(value)) return encodeURIComponent(value)
  throw new Rejection('malformed', `Cannot ${task}: ${name} is ${value === '' ? 'empty' : `"${value}"`}`)
}

/** Path and query by which an operation is asked. Members that are undefined are left out. @throws Rejection */
export function formatOperationPath<Of extends ApiOperation>(operation: Of, input: OperationInput<Of>): string {
  const { parameters = {}, query = {} } = input as { readonly parameters?: Members; readonly query?: Members }
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => formatSegment(operation, name, parameters))
  const given = Object.entries(query).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
    return values.map(each => [name, String(each)])
  })
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `${operatorBase}${path}${search}`
}
