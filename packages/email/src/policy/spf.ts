// Checks SPF (RFC 7208): the right of a client to send for a domain.

import { lazy } from '@postern/message/lazy'
import type { MailEnvelopeIn } from '../mail/raw-mail.ts'
import type { DnsBudget } from './mail-dns.ts'

type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'permerror' | 'temperror'

/** The SPF verdict on the client (RFC 7208). */
export interface SpfCheck {
  readonly result: SpfResult
  /** The domain of the policy: that of MAIL FROM, or that of HELO for the null sender. */
  readonly domain: string
  /** True if the domain is that of MAIL FROM. */
  readonly isOfSender: boolean
  readonly ip: string
}

interface SpfOptions {
  readonly budget: DnsBudget
  /** The name of this gateway, for macros. */
  readonly mta: string
  readonly timeoutMs: number
}

/** The library is loaded once: a new import for each mail would resolve its name each time. */
export const loadSpf = lazy(() => import('mailauth/lib/spf/index.js'))

/** Checks whether the client may send for MAIL FROM. It returns undefined if the transport did not supply enough data. */
export async function checkSpf(envelope: MailEnvelopeIn, options: SpfOptions): Promise<SpfCheck | undefined> {
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
  // A policy that needs more questions than a message may ask is a broken policy, not DNS trouble.
  const needsTooManyQueries = status.result === 'temperror' && options.budget.isExhausted()
  return {
    result: needsTooManyQueries ? 'permerror' : (status.result as SpfResult),
    domain,
    isOfSender: from !== '',
    ip,
  }
}
