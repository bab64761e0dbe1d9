import { hash } from 'node:crypto'

/** W3C Trace Context §3.2.2.3. */
export const traceIdOf = (correlationId: string) => hash('sha256', `trace ${correlationId}`).slice(0, 32)

/** W3C Trace Context §3.2.2.4. `key`: of a stage, unique in its message. */
export const spanIdOf = (correlationId: string, key: string) =>
  hash('sha256', `span ${correlationId} ${key}`).slice(0, 16)

interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/** W3C Trace Context §3.2, version 00. */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Undefined for what is none. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, traceId, spanId, flags] = traceparent.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
