// Applies the patches of an AG-UI run to its state, within limits (RFC 6902).
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@postern/message'
import { lazy } from '@postern/message'
import type { Operation } from 'rfc6902'
import { z } from 'zod'

const require = createRequire(import.meta.url)
const patches = lazy(() => require('rfc6902/patch.js') as typeof import('rfc6902/patch.js'))
const pointers = lazy(() => require('rfc6902/pointer.js') as typeof import('rfc6902/pointer.js'))

/** The maximum size of a state, bytes of its JSON, and the maximum nesting of its members. */
const maxBytes = 2 * 1024 * 1024
const maxDepth = 200
/** The maximum numbers of operations in one delta and in one run, and the maximum number of bytes that the operations of a run write. */
const maxDeltaOperations = 1_000
const maxRunOperations = 20_000
const maxWrittenBytes = 32 * 1024 * 1024

/** No segment of a pointer may lead to the prototype of all objects. */
const pointerSchema = z
  .string()
  .refine(pointer => !pointer.split('/').some(name => ['__proto__', 'constructor', 'prototype'].includes(name)))
const operationSchema = z.looseObject({
  op: z.enum(['add', 'remove', 'replace', 'move', 'copy', 'test']),
  path: pointerSchema,
  from: pointerSchema.optional(),
})
type StateOperation = z.infer<typeof operationSchema>

/** The state of a run. Each operation that writes is measured before the next one runs, because each `copy` may double the state. */
export class RunState {
  readonly #holder: { state: Json | undefined }
  /** The approximate size of the state, bytes. */
  #bytes = 0
  #written = 0
  #operations = 0
  #isOwn = false

  constructor(state: Json | undefined) {
    this.#holder = { state }
  }

  get value(): Json | undefined {
    return this.#holder.state
  }

  /** Replaces the whole state. @throws Error if the new state is too large */
  replace(state: Json | undefined): void {
    this.#bytes = measureValue(state ?? null)
    this.#written += this.#bytes
    this.#holder.state = state
    this.#isOwn = true
    this.#check()
  }

  /** Applies a JSON Patch. A failure ends the run, so the state need not be restored. @throws Error */
  patch(delta: unknown): void {
    const parseResult = z.array(operationSchema).safeParse(delta)
    if (!parseResult.success) throw new Error('Cannot read an AG-UI event: a state delta is no JSON Patch')
    this.#operations += parseResult.data.length
    if (parseResult.data.length > maxDeltaOperations || this.#operations > maxRunOperations)
      throw new Error(
        `Cannot apply the state delta of the AG-UI server: more than ${maxDeltaOperations} operations, or ${maxRunOperations} in the run`,
      )
    if (!this.#isOwn) this.replace(structuredClone(this.#holder.state ?? {}))
    for (const operation of parseResult.data) this.#apply(operation)
  }

  #apply({ op, from, path, value: operand }: StateOperation): void {
    const [target, source] = [`/state${path}`, from === undefined ? undefined : `/state${from}`]
    for (const pointer of [target, source]) if (pointer !== undefined) this.#checkPointer(pointer)
    if (op === 'test') {
      if (!isDeepStrictEqual(this.#find(target).value, operand)) throw createDeltaError('TestError')
      return
    }
    this.#count({ op, target, source, value: source === undefined ? operand : this.#find(source).value })
    const operation = { op, path: target, from: source, ...(operand !== undefined && { value: operand }) }
    const patchError = patches().apply(this.#holder, operation as Operation)
    if (patchError) throw createDeltaError(patchError.name)
  }

  /** Counts the bytes that an operation will write and remove. */
  #count({ op, target, source, value }: CountedOperation): void {
    const { parent, value: earlierValue } = this.#find(target)
    // An insertion into a list moves the following elements and replaces none of them.
    const isValueRemoved = op === 'remove' || op === 'replace' || (earlierValue !== undefined && !Array.isArray(parent))
    if (isValueRemoved) this.#bytes -= measureMember(target, earlierValue)
    if (op === 'move' && source !== undefined) this.#bytes -= measureMember(source, value)
    if (op !== 'remove') {
      const writtenBytes = measureMember(target, value)
      this.#bytes += writtenBytes
      this.#written += writtenBytes
    }
    this.#check()
  }

  /** Refuses pointers that lead to members of a list other than its elements, such as `length` (RFC 6901 §4). A `length` of millions would count as the bytes of one number. */
  #checkPointer(pointer: string): void {
    let value: unknown = this.#holder
    for (const token of pointers().Pointer.fromJSON(pointer).tokens.slice(1)) {
      if (Array.isArray(value) && !/^(?:-|0|[1-9]\d*)$/.test(token)) throw createDeltaError('MissingError')
      const isOwn = typeof value === 'object' && value !== null && Object.hasOwn(value, token)
      value = isOwn ? (value as Readonly<Record<string, unknown>>)[token] : undefined
    }
  }

  #find(pointer: string) {
    return pointers().Pointer.fromJSON(pointer).evaluate(this.#holder)
  }

  #check(): void {
    if (this.#bytes > maxBytes) throw new Error(`The state of the AG-UI server has more than ${maxBytes} bytes`)
    if (this.#written > maxWrittenBytes)
      throw new Error(`The AG-UI server writes more than ${maxWrittenBytes} bytes into the state of one run`)
  }
}

interface CountedOperation {
  readonly op: string
  readonly target: string
  readonly source: string | undefined
  readonly value: unknown
}

/** Returns the size of a member with its name, bytes. @throws Error if values are nested too deeply */
function measureMember(pointer: string, value: unknown): number {
  const names = pointer.split('/')
  return (names.at(-1)?.length ?? 0) + 4 + measureValue(value ?? null, names.length)
}

function createDeltaError(name: string): Error {
  return new Error(`Cannot apply the state delta of the AG-UI server: ${name}`)
}

/**
 * Returns the approximate size of a value, bytes of its JSON. It stops counting once the value is too large. @throws Error if values are nested too
 * deeply
 */
function measureValue(value: unknown, depth = 0): number {
  if (depth > maxDepth) throw new Error(`The state of the AG-UI server is deeper than ${maxDepth} members`)
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (typeof value !== 'object' || value === null) return 8
  let bytes = 2
  for (const name in value) {
    bytes += (Array.isArray(value) ? 1 : name.length + 4) + measureValue(value[name as keyof typeof value], depth + 1)
    if (bytes > maxBytes) return bytes
  }
  return bytes
}
