import type { RejectionCode } from '@postern/core'
import { Rejection } from '@postern/core/errors'
import type { Context } from 'hono'
import type { z } from 'zod'

/** Where the operator's API is. */
export const operatorBase = '/operator/api'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One operation of the operator's API: all that the router, the OpenAPI document and the client know of it. */
export interface ApiOperation {
  /** Unique: `operationId` of the document. */
  readonly id: string
  readonly method: Method
  /** Below `/operator/api`, with parameters as `{name}`; each stands for one segment. */
  readonly path: `/${string}`
  /** What it does, as a sentence without a subject: `Lists the messages that came in, newest first.` */
  readonly summary: string
  /** Follows "Cannot" in the sentence of a refusal: `list messages`. */
  readonly task: string
  /** The parameters of `path`, one schema each. */
  readonly parameters?: z.ZodObject
  /** Everything that may stand behind `?`; any other name is refused. */
  readonly query?: z.ZodObject
  readonly body?: RequestBody
  /** The JSON that it answers with. */
  readonly answer?: z.ZodType
  /** Answers that the handler writes itself, by media type; of one that is no JSON the schema is of its text. */
  readonly media?: Readonly<Record<string, z.ZodType>>
  /** Refusals beside `malformed` and a missing token: when each is given. */
  readonly refusals?: Readonly<Partial<Record<RejectionCode | 'unavailable', string>>>
}

interface RequestBody {
  readonly schema: z.ZodType
  /** Default: 64 KiB. */
  readonly maxBytes?: number
  /** How deep its JSON may be; default: 4. */
  readonly maxDepth?: number
  /** An absent body is as `{}`. */
  readonly isOptional?: true
}

/** Keeps the exact type of a declaration, from which handler and client take theirs. */
export function defineOperation<const Declared extends ApiOperation>(operation: Declared): Declared {
  return operation
}

type Parsed<Schema> = Schema extends z.ZodType ? Readonly<z.output<Schema>> : undefined

/** What an operation is given, read and checked. */
export interface OperationRequest<Of extends ApiOperation> {
  readonly parameters: Parsed<Of['parameters']>
  readonly query: Parsed<Of['query']>
  readonly body: Of['body'] extends { readonly schema: infer Schema } ? Parsed<Schema> : undefined
  readonly context: Context
}

/** What an operation answers: JSON of its schema, or the whole response where it declares `media`. */
export type OperationAnswer<Of extends ApiOperation> = Of['answer'] extends z.ZodType
  ? Readonly<z.output<Of['answer']>>
  : Response

/** An operation and the function that does it. */
export interface OperatorRoute {
  readonly operation: ApiOperation
  run(request: OperationRequest<ApiOperation>): Promise<unknown>
}

/** What an operation is about, if it is there. @throws Rejection `no_recipient` with this sentence */
export function requireFound<Found>(found: Found | undefined | false, sentence: string): Found {
  if (found) return found
  throw new Rejection('no_recipient', sentence)
}

/** Says which function does an operation. */
export function handleOperation<Of extends ApiOperation>(
  operation: Of,
  run: (request: OperationRequest<Of>) => Promise<OperationAnswer<Of>>,
): OperatorRoute {
  return { operation, run: run as unknown as OperatorRoute['run'] }
}
