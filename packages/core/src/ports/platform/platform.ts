import type { DeliveryReply } from '../trace/trace.ts'

export interface FetchRequest {
  readonly method?: 'GET' | 'POST' | 'HEAD' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
  /** Ends the exchange early; it also ends by itself after `timeoutMs`. */
  readonly signal?: AbortSignal
  /** From the first byte sent to the last byte read; default 10 000. */
  readonly timeoutMs?: number
  /** Decoded body bytes read at most; default 1 MiB. */
  readonly maxBytes?: number
  /** Redirects followed at most, each checked like the first address; default 0. */
  readonly redirects?: number
}

/** An answer read to its end, within the limits of the request. */
export interface FetchAnswer {
  readonly status: number
  readonly headers: Headers
  /** Where the answer came from after redirects. */
  readonly url: string
  readonly body: Uint8Array
}

/**
 * The only way out over HTTP: https, public addresses only, pinned to the checked address.
 * @throws Unavailable when the far side did not answer in time or could not be resolved
 * @throws Undeliverable when the address is one we must not talk to, or the answer breaks a limit
 */
export type GuardedFetch = (url: string, request?: FetchRequest) => Promise<FetchAnswer>

export interface StreamRequest extends Pick<FetchRequest, 'method' | 'headers' | 'body' | 'signal' | 'maxBytes'> {
  /** Until the answer begins; default 10 000. */
  readonly timeoutMs?: number
  /** Longest time without a byte; default 60 000. */
  readonly idleMs?: number
}

/** An answer that is read as it comes. Leaving the loop over `body` ends the exchange; left unread, it ends by itself. */
export interface StreamAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * The way out for answers that come in pieces, behind the same guard as `GuardedFetch`. Redirects are not followed; `maxBytes`
 * counts all of the body (default 16 MiB).
 * @throws Unavailable, Undeliverable, both also from the body
 */
export type OpenStream = (url: string, request?: StreamRequest) => Promise<StreamAnswer>

/** Answers like `dns.promises.resolve`: errors carry `code` (`ENOTFOUND`, `ENODATA`, …). */
export type DnsResolver = (name: string, type: string) => Promise<unknown>

export interface MailEnvelope {
  readonly from: string
  readonly to: readonly string[]
}

/** Hands a finished message to the smarthost; resolves with its last reply once it has taken it. */
export type SubmitMail = (
  envelope: MailEnvelope,
  octets: Uint8Array,
) => Promise<{ readonly response: string; readonly reply?: DeliveryReply | undefined }>

export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  debug(fields: LogFields, text: string): void
  info(fields: LogFields, text: string): void
  warn(fields: LogFields, text: string): void
  error(fields: LogFields, text: string): void
}

/** Everything outside. Nothing else in the gateway touches the network, the clock or chance. */
export interface Platform {
  readonly fetch: GuardedFetch
  /** The check of `fetch` that asks no DNS, with what the operator has opened. @throws Undeliverable */
  readonly checkUrl?: ((url: string) => URL) | undefined
  /** Absent where nothing can be streamed from outside. */
  readonly openStream?: OpenStream | undefined
  readonly resolveDns: DnsResolver
  readonly submitMail: SubmitMail
  /** Milliseconds since the epoch. */
  now(): number
  randomBytes(count: number): Uint8Array
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  readonly log: Log
}

let lastTime = { ms: 0, text: new Date(0).toISOString() }

/** Each message needs the present time several times within one millisecond, so the last one is kept. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** `count` random bytes as lower-case hex. */
export function randomHex({ randomBytes }: Pick<Platform, 'randomBytes'>, count: number): string {
  let text = ''
  for (const byte of randomBytes(count)) text += hexPairs[byte]
  return text
}

/**
 * A name that nobody guesses (80 random bits) and that sorts by the ms in which it was made, 32 digits: what is stored together then lies together, as
 * with UUID version 7 (RFC 9562 §5.7).
 */
export function makeId(platform: Pick<Platform, 'now' | 'randomBytes'>): string {
  return Math.floor(platform.now()).toString(16).padStart(12, '0') + randomHex(platform, 10)
}

/** A log whose every line carries `bound`. */
export function bindLog(log: Log, bound: LogFields): Log {
  return {
    debug: (fields, text) => log.debug({ ...bound, ...fields }, text),
    info: (fields, text) => log.info({ ...bound, ...fields }, text),
    warn: (fields, text) => log.warn({ ...bound, ...fields }, text),
    error: (fields, text) => log.error({ ...bound, ...fields }, text),
  }
}

/**
 * The time an agent has, as one signal that is let go of when the turn is over. Runs out after `deadlineMs` or when one of `stops` aborts.
 * `AbortSignal.any` with `AbortSignal.timeout` would do the same, but it holds the turn and its answer until the deadline, however early the
 * agent is done.
 */
export function startTurnClock(deadlineMs: number, stops: readonly AbortSignal[]) {
  const controller = new AbortController()
  const waits: ((reason: unknown) => void)[] = []
  const abort = (reason: unknown) => {
    controller.abort(reason)
    for (const end of waits) end(reason)
  }
  const onStop = ({ target }: Event) => abort((target as AbortSignal).reason)
  const timer = setTimeout(() => abort(new DOMException('the agent took too long', 'TimeoutError')), deadlineMs)
  for (const stop of stops) {
    if (stop.aborted) abort(stop.reason)
    else stop.addEventListener('abort', onStop, { once: true })
  }
  return {
    signal: controller.signal,
    /** Waits for `work` as long as there is time. @throws the signal's reason once the time is over */
    limit: <T>(work: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        work.then(resolve, reject)
        waits.push(reject)
        if (controller.signal.aborted) reject(controller.signal.reason)
      }),
    /** Stops the clock: nothing of the turn is held any longer. */
    stop() {
      clearTimeout(timer)
      for (const stop of stops) stop.removeEventListener('abort', onStop)
    },
  }
}

/** Bytes that may be in memory at a time, of all peers together and of each owner: a caller, or a network address. */
export interface ByteBudget {
  /** An empty hold. */
  hold(owner: string): ByteHold
}

export interface ByteHold {
  /**
   * Counts `bytes` more.
   * @throws Rejection `rate_limited` when the owner holds too much, Unavailable when all together do
   */
  add(bytes: number): void
  /** Gives everything back; may be called twice. */
  release(): void
}
