import { hash } from 'node:crypto'
import type { HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Turn } from '@postern/core'
import { loadOptional } from '@postern/core'
import type { Config } from '../../config/schema.ts'
import { softwareVersion } from '../../platform/version.ts'
import type { MessageStage } from './stage.ts'
import { turnKey } from './stage.ts'

export interface Telemetry {
  /** Sends a stage as a span, if its message is traced. Never throws, never waits. */
  send(stage: MessageStage): void
  /** What agents and peers are told of a turn, W3C Trace Context. */
  traceparentOf(turn: Pick<Turn, 'correlationId' | 'message' | 'token'>): string
  /** Sends what waits, for two seconds at most. */
  close(): Promise<void>
}

/** Spans that wait while the collector is away; what comes beyond is dropped. */
const maxWaiting = 2_048
/** Bytes of spans are few; a collector that hangs must not hold sockets for long. */
const exportTimeoutMs = 10_000
const closeTimeoutMs = 2_000

const libraries = ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace'].map(name => `@opentelemetry/${name}`)

/** Undefined without `telemetry.endpoint`: then nothing is loaded. @throws ConfigError when a library is not installed */
export async function openTelemetry(config: Config['telemetry']): Promise<Telemetry | undefined> {
  const { endpoint } = config
  if (endpoint === undefined) return undefined
  const sdk = await loadOptional(() => import('./sdk.ts'), { key: 'telemetry.endpoint', libraries })
  const { processor, resource } = sdk.createPipeline({
    ...{ endpoint, headers: config.headers, serviceName: config.service_name, version: softwareVersion },
    ...{ maxWaiting, exportTimeoutMs },
  })
  const sampler = new sdk.TraceIdRatioBasedSampler(config.sampling)
  const isSampled = (traceId: string) => sdk.isRecorded(sampler, traceId)
  const scope = { name: 'postern', version: softwareVersion }
  return {
    send(stage) {
      const traceId = traceIdOf(stage.correlationId)
      if (isSampled(traceId)) processor.onEnd(describeSpan(stage, traceId, { resource, instrumentationScope: scope }))
    },
    traceparentOf(turn) {
      const traceId = traceIdOf(turn.correlationId)
      const spanId = spanIdOf(turn.correlationId, turnKey(turn))
      return formatTraceparent({ traceId, spanId, isSampled: isSampled(traceId) })
    },
    async close() {
      const waited = new Promise<void>(resolve => setTimeout(resolve, closeTimeoutMs).unref())
      await Promise.race([processor.shutdown().catch(() => undefined), waited])
    },
  }
}

/** `SpanKind` and `SpanStatusCode` of the API, which is loaded only where there is a collector. */
const kinds = { internal: 0, server: 1, client: 2 } as const
const statuses = { unset: 0, error: 2 } as const
const sampled = 1

const kindOf: Readonly<Partial<Record<MessageStage['name'], number>>> = { receive: kinds.server, deliver: kinds.client }

function describeSpan(
  { name, via, correlationId, startAt, endAt, describe }: MessageStage,
  traceId: string,
  origin: Pick<ReadableSpan, 'resource' | 'instrumentationScope'>,
): ReadableSpan {
  const { key, attributes, fault, caller } = describe()
  const contextOf = (of: string) => ({ traceId, spanId: spanIdOf(correlationId, of), traceFlags: sampled })
  const link = caller === undefined ? undefined : parseTraceparent(caller)
  const named = Object.entries(attributes).map(([each, value]) => [`postern.${each}`, value])
  return {
    name: name === 'verify' ? `verify ${attributes.check}` : name,
    kind: kindOf[name] ?? kinds.internal,
    spanContext: () => contextOf(key),
    ...(key !== 'receive' && { parentSpanContext: contextOf('receive') }),
    startTime: toHrTime(startAt),
    endTime: toHrTime(endAt),
    duration: toHrTime(Math.max(0, endAt - startAt)),
    status: fault === undefined ? { code: statuses.unset } : { code: statuses.error, message: fault },
    attributes: { 'postern.channel': via, 'postern.correlation_id': correlationId, ...Object.fromEntries(named) },
    links: link
      ? [{ context: { traceId: link.traceId, spanId: link.spanId, traceFlags: link.isSampled ? 1 : 0 } }]
      : [],
    events: [],
    ended: true,
    ...origin,
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

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
