// Loads the SDK of OpenTelemetry, which only gateways with a collector need.
import { context, SpanKind } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { Sampler } from '@opentelemetry/sdk-trace'
import { BatchSpanProcessor, SamplingDecision } from '@opentelemetry/sdk-trace'

export { TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'

interface PipelineOptions {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly version: string
  /** The number of spans that may wait. */
  readonly maxWaiting: number
  readonly exportTimeoutMs: number
}

/** Creates an exporter that sends spans in batches, by OTLP/HTTP as JSON. */
export function createPipeline(options: PipelineOptions) {
  const { endpoint, headers, serviceName, version, maxWaiting, exportTimeoutMs } = options
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    headers: { ...headers },
    timeoutMillis: exportTimeoutMs,
    concurrencyLimit: 2,
  })
  const resource = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version })
  return {
    processor: new BatchSpanProcessor({ exporter, maxQueueSize: maxWaiting, exportTimeoutMillis: exportTimeoutMs }),
    resource,
  }
}

/** Decides by the trace id alone, so that all gateways choose the same messages. */
export function isRecorded(sampler: Sampler, traceId: string): boolean {
  const { decision } = sampler.shouldSample(context.active(), traceId, 'receive', SpanKind.SERVER, {}, [])
  return decision === SamplingDecision.RECORD_AND_SAMPLED
}
