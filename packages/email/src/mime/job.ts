import type { SignatureJob, SignatureReports } from '../authenticate/dkim/verify.ts'
import type { MailBody } from '../body/mail-body.ts'

/** Everything heavy about one message, done in a thread that may be killed. It has no way out: DNS is settled before. */
export interface MimeJob extends SignatureJob {
  readonly octets: Uint8Array
  /** Offsets of header fields that are left out of the judgement (signatures beyond the cap). */
  readonly ignored: readonly (readonly [start: number, end: number])[]
  /** Whether there is a signature to verify. */
  readonly isSigned: boolean
  /** A trusted third party proves the author, whatever the signature says here. */
  readonly isVouched?: boolean | undefined
  /** A signature covers the body, and not how it is put together. */
  readonly isLoose?: boolean | undefined
  /** Forwarded mail keeps what it quotes. */
  readonly keepsQuotes: boolean
}

export interface MimeResult extends SignatureReports {
  readonly body: MailBody
}
