import { lazy } from '@postern/core/lazy'
import type { JudgedSignature } from './dkim/classify.ts'
import type { DnsBudget } from './dns/mail-dns.ts'
import type { SpfCheck } from './spf.ts'

type DmarcPolicy = 'none' | 'quarantine' | 'reject'

/** The DMARC policy of the author's domain (RFC 9989). */
export interface DmarcCheck {
  readonly result: 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
  /** The policy to apply; undefined without a record. */
  readonly policy?: DmarcPolicy | undefined
  /** The author's Organizational Domain: nothing outside of it can align. Undefined where it is not known. */
  readonly organization?: string | undefined
  /** Signing domains that align, lower case. */
  readonly alignedSigners: ReadonlySet<string>
  readonly isSpfAligned: boolean
}

interface DmarcEvidence {
  readonly authorDomain: string
  readonly signatures: readonly JudgedSignature[]
  readonly spf: SpfCheck | undefined
}

/** The library, loaded once: naming it anew with each mail would be looked up anew. */
export const loadDmarc = lazy(() => import('mailauth/lib/dmarc/index.js'))

/** Asks for the author's policy and compares. Only signatures that are whole and in time count. */
export async function checkDmarc(evidence: DmarcEvidence, { resolve }: DnsBudget): Promise<DmarcCheck> {
  const { authorDomain, signatures, spf } = evidence
  const { evaluateDmarc } = await loadDmarc()
  const { response, dkimAligned } = await evaluateDmarc({
    headerFrom: [`author@${authorDomain}`],
    fromFields: 1,
    spfDomains: spf?.result === 'pass' ? [spf.domain] : [],
    dkimDomains: signatures.filter(({ verdict }) => verdict === 'pass').map(({ domain }) => ({ domain })),
    resolver: resolve as (name: string, type: string) => Promise<string[][]>,
    strict: true,
  })
  if (response === false) return { result: 'permerror', alignedSigners: new Set(), isSpfAligned: false }
  return {
    result: response.status.result as DmarcCheck['result'],
    policy: readPolicy(response.policy),
    organization: response.domain,
    alignedSigners: dkimAligned ?? new Set(),
    isSpfAligned: Boolean(response.alignment?.spf?.result),
  }
}

function readPolicy(policy: string | undefined): DmarcPolicy | undefined {
  return policy === 'reject' || policy === 'quarantine' || policy === 'none' ? policy : undefined
}
