import { lazy } from '@postern/core/lazy'
import type { MailEnvelopeIn } from '../mail/raw.ts'
import type { DnsBudget } from './dns/mail-dns.ts'

type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'permerror' | 'temperror'

/** The SPF verdict on the client (RFC 7208). */
export interface SpfCheck {
  readonly result: SpfResult
  /** The domain of the policy: of MAIL FROM, or of HELO for the null sender. */
  readonly domain: string
  readonly ip: string
}

interface SpfOptions {
  readonly budget: DnsBudget
  /** Our own name, for macros. */
  readonly mta: string
  readonly timeoutMs: number
}

/** The library, loaded once: naming it anew with each mail would be looked up anew. */
export const loadSpf = lazy(() => import('mailauth/lib/spf/index.js'))

/** Checks the client's right to send for MAIL FROM. Undefined when the transport did not say enough. */
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
  const isTooLong = status.result === 'temperror' && options.budget.isExhausted()
  return { result: isTooLong ? 'permerror' : (status.result as SpfResult), domain, ip }
}
