// Measures the gateway's answer times inside its own process, so that the delays of a client on a shared core do not count.
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { quantile } from '../harness/statistics.ts'

/** The answer times of accepted posts since the last reading. */
export interface ResponseTimes {
  readonly count: number
  /** 99th percentile from the parsed head of a request to the last byte of its answer handed to the socket, ms; null without a post. */
  readonly p99: number | null
  /** 99th percentile of the delay of the event loop, which a request meets before its head is parsed, ms. */
  readonly loopDelayP99: number
}

type LoopDelay = ReturnType<typeof monitorEventLoopDelay>

/** The status of an accepted post; refused ones have others. */
const acceptedStatus = 202

/**
 * Creates a timer whose `read` returns the answer times since the last reading. The first reading is empty and starts the timing, so requests
 * before it cost nothing extra.
 */
export function createAnswerTimer(): { readTimes(): ResponseTimes } {
  let times: number[] = []
  let delay: LoopDelay | undefined
  return {
    readTimes() {
      delay ??= startTiming(ms => times.push(ms))
      const p99 = times.length === 0 ? null : quantile(times, 0.99)
      const answerTimes = { count: times.length, p99, loopDelayP99: delay.percentile(99) / 1e6 }
      times = []
      delay.reset()
      return answerTimes
    },
  }
}

/** Subscribes to the events that node:http publishes about each request, and calls `record` with each answer time. */
function startTiming(record: (ms: number) => void): LoopDelay {
  const startTimes = new WeakMap<IncomingMessage, number>()
  subscribe('http.server.request.start', message => {
    startTimes.set((message as { readonly request: IncomingMessage }).request, performance.now())
  })
  subscribe('http.server.response.finish', message => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
    const startedAt = startTimes.get(request)
    if (startedAt !== undefined && response.statusCode === acceptedStatus) record(performance.now() - startedAt)
  })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  return delay
}
