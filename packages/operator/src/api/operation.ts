// Declares operations of the operator's API, from which the routes, the OpenAPI document and the client are derived.
import type { RejectionCode } from '@postern/message'
import { Rejection } from '@postern/message/errors'
import type { Context } from 'hono'
import type { z } from 'zod'

/** The base path of the operator’s API. */
export const operatorBase = '/operator/api'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One operation of the operator’s API, as the router, the OpenAPI document and the client use it. */
export interface ApiOperation {
  /** The unique `operationId` of the document. */
  readonly id: string
  readonly method: Method
  /** Returns true if a call with this body changes nothing in the store. Default: true for GET. */
  isReadOnly?(body: unknown): boolean
  /** The path below `/operator/api`. A parameter `{name}` stands for one segment. */
  readonly path: `/${string}`
  /** A sentence without a subject: `Lists the messages that came in, newest first.` */
  readonly summary: string
  /** The text after "Cannot" in a refusal: `list messages`. */
  readonly task: string
  /** The parameters of `path`, one schema each. */
  readonly parameters?: z.ZodObject
  /** The query. Other names are rejected. */
  readonly query?: z.ZodObject
  readonly body?: RequestBody
  /** The JSON of the answer. */
  readonly answer?: z.ZodType
  /** Answers that the handler writes itself, by media type. For media other than JSON, the schema describes the text. */
  readonly mediaTypes?: Readonly<Record<string, z.ZodType>>
  /** True if answers contain messages as they are stored, without masking. */
  readonly isUnmasked?: true
  /** The descriptions of refusals, except `malformed` and a missing token. */
  readonly refusals?: Readonly<Partial<Record<RejectionCode | 'unavailable', string>>>
}

interface RequestBody {
  readonly schema: z.ZodType
  /** The maximum size of the body, bytes; default: 64 KiB. */
  readonly maxBytes?: number
  /** The maximum depth of its JSON; default: 4. */
  readonly maxDepth?: number
  /** True if an absent body means `{}`. */
  readonly isOptional?: true
}

/** Returns a declaration with its exact type, from which the types of handler and client derive. */
export function defineOperation<const Declared extends ApiOperation>(operation: Declared): Declared {
  return operation
}

type SchemaOutput<Schema> = Schema extends z.ZodType ? Readonly<z.output<Schema>> : undefined

/** A parsed and checked request. */
export interface OperationRequest<Operation extends ApiOperation> {
  readonly parameters: SchemaOutput<Operation['parameters']>
  readonly query: SchemaOutput<Operation['query']>
  readonly body: Operation['body'] extends { readonly schema: infer Schema } ? SchemaOutput<Schema> : undefined
  readonly context: Context
}

/** The answer of an operation: JSON of its schema, or the response itself if it declares `mediaTypes`. */
export type OperationAnswer<Operation extends ApiOperation> = Operation['answer'] extends z.ZodType
  ? Readonly<z.output<Operation['answer']>>
  : Response

/** An operation with the function that runs it. */
export interface OperatorRoute {
  readonly operation: ApiOperation
  run(request: OperationRequest<ApiOperation>): Promise<unknown>
}

/** Returns the item if it exists. @throws Rejection `no_recipient` with this sentence */
export function requireFound<Item>(item: Item | undefined | false, sentence: string): Item {
  if (item) return item
  throw new Rejection('no_recipient', sentence)
}

/** Connects an operation with its handler. */
export function handleOperation<Operation extends ApiOperation>(
  operation: Operation,
  run: (request: OperationRequest<Operation>) => Promise<OperationAnswer<Operation>>,
): OperatorRoute {
  return { operation, run: run as unknown as OperatorRoute['run'] }
}
