// Defines the evidence about the origin of a mail.

import type { ChainReport } from '../arc/chain.ts'
import type { DmarcCheck } from '../policy/dmarc.ts'
import type { SpfCheck } from '../policy/spf.ts'
import type { Coverage } from '../signatures/coverage.ts'
import type { JudgedSignature } from '../signatures/judge-signature.ts'
import type { UpstreamVerdict } from './upstream.ts'

/** The evidence about the origin of a message. */
export interface MailEvidence {
  readonly authorDomain: string
  readonly signatures: readonly JudgedSignature[]
  /** The SPF verdict. It is undefined if the client is not known. */
  readonly spf: SpfCheck | undefined
  readonly dmarc: DmarcCheck
  /** The ARC chain. It is undefined if the operator trusts no sealer. */
  readonly chain?: ChainReport | undefined
  /** The verdict of a server in front of this one, if the operator trusts such a server. */
  readonly upstream?: UpstreamVerdict | undefined
  /** The verdict of a trusted server that verified the author. */
  readonly trustedVerdict?: TrustedVerdict | undefined
}

/** The verdict of a trusted server, with the fields that it covers. */
export interface TrustedVerdict {
  /** The server that gave the verdict, as `provider:<name>` or `authserv:<id>`. */
  readonly issuer: string
  readonly coverage: Coverage
  /** The fields that show when the author wrote and to whom. */
  readonly timingCoverage: Coverage
}
