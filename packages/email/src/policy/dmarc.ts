// Checks the DMARC policy of the author's domain (RFC 9989).
import { lazy } from '@postern/message/lazy'
import type { JudgedSignature } from '../signatures/judge-signature.ts'
import type { DnsBudget } from './mail-dns.ts'
import type { SpfCheck } from './spf.ts'

type DmarcPolicy = 'none' | 'quarantine' | 'reject'

/** The DMARC verdict on a mail (RFC 9989). */
export interface DmarcCheck {
  readonly result: 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
  /** The policy to apply. It is undefined if the domain has no record. */
  readonly policy?: DmarcPolicy | undefined
  /** The author's Organizational Domain, if it is known. No domain outside of it can align. */
  readonly organization?: string | undefined
  /** The signing domains that align, in lower case. */
  readonly alignedSigners: ReadonlySet<string>
  readonly isSpfAligned: boolean
}

interface DmarcInput {
  readonly authorDomain: string
  readonly signatures: readonly JudgedSignature[]
  readonly spf: SpfCheck | undefined
}

/** Loads the library once, because every `import()` resolves the name of the module again. */
export const loadDmarc = lazy(() => import('mailauth/lib/dmarc/index.js'))

/**
 * Queries the policy of the author's domain and checks the alignment. Only signatures with the verdict `pass` count.
 */
export async function checkDmarc(
  { authorDomain, signatures, spf }: DmarcInput,
  { resolve }: DnsBudget,
): Promise<DmarcCheck> {
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
