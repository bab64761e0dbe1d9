// Declares everything outside the process: network, clock, random bytes and log.

import type { ParsedUrl } from '../format/web-url.ts'
import type { GuardedFetch, OpenStream } from './guarded-fetch.ts'
import type { Log } from './log.ts'
import type { SubmitMail } from './submit-mail.ts'

/** A function that resolves names like `dns.promises.resolve`. Its errors have a `code` (`ENOTFOUND`, `ENODATA`, …). */
export type DnsResolver = (name: string, type: string) => Promise<unknown>

interface ConfiguredNetwork {
  readonly fetch: GuardedFetch
  readonly openStream?: OpenStream | undefined
}

interface PushNetwork {
  readonly fetch: GuardedFetch
  /** Checks a URL like `fetch`, but without DNS. @throws Undeliverable */
  checkUrl(url: string): ParsedUrl
}

/** Returns the same system, in which `fetch` and `openStream` are those for addresses of the configuration. */
export function toConfigured<Network extends Pick<System, 'fetch' | 'configured'>>(system: Network): Network {
  return system.configured ? { ...system, ...system.configured } : system
}

/**
 * Returns the same system, in which `fetch` and `openStream` reach no other opened origins than these. It suits calls in which a peer names some
 * of the addresses.
 */
export function openConfiguredOrigins<Network extends Pick<System, 'fetch' | 'configuredFor'>>(
  system: Network,
  origins: readonly string[],
): Network {
  return { ...system, ...system.configuredFor?.(origins) }
}

/** Everything outside the process. Nothing else in the gateway uses the network, the clock or random numbers. */
export interface System {
  /** Fetches from public addresses only, because peers choose many of them. */
  readonly fetch: GuardedFetch
  /**
   * The functions for addresses of the configuration, which no peer chooses. They also reach origins that the operator opened. If it is absent,
   * `fetch` and `openStream` are used.
   */
  readonly configured?: ConfiguredNetwork | undefined
  /**
   * Returns functions like `configured` for which only these of the opened origins are open, even behind redirects. If it is absent, `fetch` and
   * `openStream` are used.
   */
  configuredFor?(origins: readonly string[]): ConfiguredNetwork
  /** The functions for receivers of push notifications. If it is absent, `fetch` is used. */
  readonly push?: PushNetwork | undefined
  /** Opens streamed answers; absent if nothing can be streamed from outside. */
  readonly openStream?: OpenStream | undefined
  readonly resolveDns: DnsResolver
  readonly submitMail: SubmitMail
  /** Returns the ms since the epoch. */
  now(): number
  randomBytes(count: number): Uint8Array
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  readonly log: Log
}
