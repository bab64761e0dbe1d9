// Checks SPF (RFC 7208): the right of a client to send for a domain.

import { lazy } from '@postern/message/lazy'
import type { IncomingEnvelope } from '../mail/raw-mail.ts'
import type { DnsBudget } from './mail-dns.ts'

type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'permerror' | 'temperror'

/** The SPF verdict on the client (RFC 7208). */
export interface SpfCheck {
  readonly result: SpfResult
  /** The domain of the policy: the domain of MAIL FROM, or of HELO if the sender is null. */
  readonly domain: string
  /** True if the domain is the domain of MAIL FROM. */
  readonly isMailFromDomain: boolean
  readonly ip: string
}

interface SpfOptions {
  readonly budget: DnsBudget
  /** The name of this gateway, for macros. */
  readonly mta: string
  readonly timeoutMs: number
}

/** Loads the library once, because every `import()` resolves the name of the module again. */
export const loadSpf = lazy(() => import('mailauth/lib/spf/index.js'))

/**
 * Checks if the client may send for the domain of MAIL FROM. It returns undefined if the transport did not supply
 * enough data.
 */
export async function checkSpf(envelope: IncomingEnvelope, options: SpfOptions): Promise<SpfCheck | undefined> {
  const { ip, helo, from } = envelope
  if (!ip || from === undefined || !(from || helo)) return undefined
  const { spf } = await loadSpf()
  const { status, domain } = await spf({
    sender: from,
    ip,
    helo: helo ?? '',
    mta: options.mta,
    resolver: options.budget.resolve as (name: string, type: string) => Promise<string[][]>,
    strict: true,
    maxElapsedTime: options.timeoutMs,
  })
  // A policy that exceeds the limit of DNS queries (RFC 7208 §4.6.4) is a permanent error.
  const exceedsQueryLimit = status.result === 'temperror' && options.budget.isExhausted()
  return {
    result: exceedsQueryLimit ? 'permerror' : (status.result as SpfResult),
    domain,
    isMailFromDomain: from !== '',
    ip,
  }
}
