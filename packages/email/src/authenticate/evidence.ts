import type { ChainReport } from './arc/report.ts'
import type { JudgedSignature } from './dkim/classify.ts'
import type { DmarcCheck } from './dmarc.ts'
import type { Coverage } from './signatures/coverage.ts'
import type { SpfCheck } from './spf.ts'
import type { UpstreamVerdict } from './upstream/results.ts'

/** Everything that was found out about a message's origin. */
export interface MailEvidence {
  readonly authorDomain: string
  readonly signatures: readonly JudgedSignature[]
  /** Undefined when the client is not known. */
  readonly spf: SpfCheck | undefined
  readonly dmarc: DmarcCheck
  /** Undefined where the operator trusts no sealer. */
  readonly chain?: ChainReport | undefined
  /** The verdict of a server in front of this one, where the operator has named one. */
  readonly upstream?: UpstreamVerdict | undefined
  /** A server whose verdict is believed, and which saw DMARC pass. */
  readonly believed?: BelievedVerdict | undefined
}

export interface BelievedVerdict {
  /** `provider:<name>`, `authserv:<id>` */
  readonly issuer: string
  readonly coverage: Coverage
}
