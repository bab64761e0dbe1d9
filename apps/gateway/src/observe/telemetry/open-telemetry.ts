// Sends spans to a collector, and gives agents and peers the trace context.
import { hash } from 'node:crypto'
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { loadOptionalLibrary } from '@postern/message'
import type { Turn } from '@postern/pipeline'
import type { Config } from '../../config/schema.ts'
import { softwareVersion } from '../../system/version.ts'
import type { TracedSpan } from './stage.ts'
import { formatTurnKey } from './stage.ts'
import { formatStepKey } from './turn-step.ts'

export interface Telemetry {
  /** Sends a span if its message is traced. Never throws and never waits. */
  send(span: TracedSpan): void
  /** Returns the `traceparent` of a turn or of one of its steps, for agents and peers (W3C Trace Context). */
  traceparentOf(turn: Pick<Turn, 'correlationId' | 'message' | 'token'>, step?: number): string
  /** Sends waiting spans, within two seconds at most, and closes the exporter. */
  close(): Promise<void>
}

/** The maximum number of spans that wait for the collector. Further spans are dropped. */
const maxWaiting = 2_048
/** The timeout of a request to the collector, ms. It keeps a hanging request from holding sockets. */
const exportTimeoutMs = 10_000
const closeTimeoutMs = 2_000

const libraries = ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace'].map(name => `@opentelemetry/${name}`)

/** Opens the exporter. Returns undefined without `telemetry.endpoint`, and then loads nothing. @throws ConfigError if a library is not installed */
export async function openTelemetry(config: Config['telemetry']): Promise<Telemetry | undefined> {
  const { endpoint } = config
  if (endpoint === undefined) return undefined
  const sdk = await loadOptionalLibrary(() => import('./sdk.ts'), { key: 'telemetry.endpoint', libraries })
  const { processor, resource } = sdk.createPipeline({
    endpoint,
    headers: config.headers,
    serviceName: config.service_name,
    version: softwareVersion,
    maxWaiting,
    exportTimeoutMs,
  })
  const sampler = new sdk.TraceIdRatioBasedSampler(config.sampling)
  const isSampled = (traceId: string) => sdk.isRecorded(sampler, traceId)
  const instrumentationScope = { name: 'postern', version: softwareVersion }
  return {
    send(span) {
      const traceId = deriveTraceId(span.correlationId)
      if (isSampled(traceId)) processor.onEnd(describeSpan(span, traceId, { resource, instrumentationScope }))
    },
    traceparentOf(turn, step) {
      const traceId = deriveTraceId(turn.correlationId)
      const spanId = deriveSpanId(
        turn.correlationId,
        step === undefined ? formatTurnKey(turn) : formatStepKey(turn, step),
      )
      return formatTraceparent({ traceId, spanId, isSampled: isSampled(traceId) })
    },
    async close() {
      const timeout = new Promise<void>(resolve => setTimeout(resolve, closeTimeoutMs).unref())
      await Promise.race([processor.shutdown().catch(() => undefined), timeout])
    },
  }
}

/** The values of `SpanKind` and `SpanStatusCode` of the API, which is loaded only if a collector is configured. */
const spanKinds = { internal: 0, server: 1, client: 2 } as const
const statusCodes = { unset: 0, error: 2 } as const
const sampledFlag = 1

function describeSpan(
  { name, via, correlationId, startAt, endAt, describe }: TracedSpan,
  traceId: string,
  origin: Pick<ReadableSpan, 'resource' | 'instrumentationScope'>,
): ReadableSpan {
  const { key, parentKey: parent = 'receive', title = name, kind = 'internal', ...details } = describe()
  const { attributes, semanticAttributes: conventional, errorCode: fault } = details
  const createSpanContext = (subject: string) => ({
    traceId,
    spanId: deriveSpanId(correlationId, subject),
    traceFlags: sampledFlag,
  })
  const callerContext =
    details.callerTraceparent === undefined ? undefined : parseTraceparent(details.callerTraceparent)
  const ownAttributes = Object.entries(attributes).map(([attributeName, value]) => [`postern.${attributeName}`, value])
  return {
    name: title,
    kind: spanKinds[kind],
    spanContext: () => createSpanContext(key),
    ...(key !== parent && { parentSpanContext: createSpanContext(parent) }),
    startTime: toHrTime(startAt),
    endTime: toHrTime(endAt),
    duration: toHrTime(Math.max(0, endAt - startAt)),
    status: fault === undefined ? { code: statusCodes.unset } : { code: statusCodes.error, message: fault },
    attributes: {
      'postern.channel': via,
      'postern.correlation_id': correlationId,
      ...Object.fromEntries(ownAttributes),
      ...(conventional as Attributes),
    },
    links: [
      ...(callerContext
        ? [
            {
              context: {
                traceId: callerContext.traceId,
                spanId: callerContext.spanId,
                traceFlags: callerContext.isSampled ? 1 : 0,
              },
            },
          ]
        : []),
      ...(details.causeKey === undefined ? [] : [{ context: createSpanContext(details.causeKey) }]),
    ],
    events: [],
    ended: true,
    ...origin,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

/** Returns the trace id of a message (W3C Trace Context §3.2.2.3). */
export const deriveTraceId = (correlationId: string) => hash('sha256', `trace ${correlationId}`).slice(0, 32)

/** Returns the span id of a stage (W3C Trace Context §3.2.2.4). `key` is unique within its message. */
export const deriveSpanId = (correlationId: string, key: string) =>
  hash('sha256', `span ${correlationId} ${key}`).slice(0, 16)

interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/** Formats a `traceparent` (W3C Trace Context §3.2, version 00). */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

const traceparentPattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Parses a `traceparent`. Returns undefined for any other text. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, traceId, spanId, flags] = traceparentPattern.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
