import type { MailDetails } from './mail-details.ts'

/** What DNS said about one name: the TXT records, or the code of the error. */
export type TxtAnswer = { readonly records: readonly (readonly string[])[] } | { readonly code: string }

/** A file of a message. */
export interface MailFile {
  readonly name: string
  readonly mime: string
  readonly size: number
  /** SHA-256, lower-case hex. */
  readonly digest: string
  readonly bytes: Uint8Array
  /** Set for a text of the message that is kept as a file: everything with what it quotes, what the HTML says, or the HTML itself. */
  readonly role?: 'full_text' | 'html_text' | 'html_source' | undefined
}

/** What a message says. */
export interface MailBody {
  /** The newest text, without what it quotes. */
  readonly text: string
  readonly files: readonly MailFile[]
  readonly details: MailDetails
  /** `mime_limits`, `unparsable`, `hidden_text`, … */
  readonly flags: readonly string[]
  /** SHA-256 of the message without the fields hops add, lower-case hex. */
  readonly digest: string
}

/** One DKIM signature as the library judged it, before we do. */
export interface SignatureReport {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  /** RSA modulus length. */
  readonly bits?: number | undefined
  readonly result: string
  readonly comment: string
  /** Octets of the body that are not covered (`l=`). */
  readonly uncovered: number
  /** The key says it is only being tested (`t=y`). */
  readonly isTesting: boolean
  /** Seconds since the epoch. */
  readonly signedAt?: number | undefined
  /** Lower-case names of the fields it covers. */
  readonly covers: readonly string[]
  /** SHA-256 of the signature value. */
  readonly id: string
}

/** An ARC chain as the library judged it (RFC 8617). */
export interface ChainReport {
  readonly result: 'pass' | 'fail' | 'none'
  readonly comment: string
  /** How many sets it has. */
  readonly instances: number
  /** Of the last seal. */
  readonly domain: string
  readonly selector: string
  /** SHA-256 of the last seal's value. */
  readonly id: string
  /** What the last sealer found out about DMARC before it changed the message, and for which domain. */
  readonly dmarc?: { readonly result: string; readonly from: string } | undefined
  /** Lower-case names of the fields that its newest message signature covers. */
  readonly covers: readonly string[]
}

/** Everything heavy about one message, done in a thread that may be killed. It has no way out: DNS is settled before. */
export interface MimeJob {
  readonly octets: Uint8Array
  /** Offsets of header fields that are left out of the judgement (signatures beyond the cap). */
  readonly ignored: readonly (readonly [start: number, end: number])[]
  /** Answers for `selector._domainkey.domain`. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** Whether there is a signature to judge. */
  readonly isSigned: boolean
  /** Whether there is a chain to judge. */
  readonly isSealed?: boolean | undefined
  /** Somebody who is believed proves the author, whatever becomes of the signature here. */
  readonly isVouched?: boolean | undefined
  /** A signature covers the body, and not how it is put together. */
  readonly isLoose?: boolean | undefined
  /** Forwarded mail keeps what it quotes. */
  readonly keepsQuotes: boolean
  /** ms since the epoch */
  readonly now: number
}

export interface MimeResult {
  readonly signatures: readonly SignatureReport[]
  readonly chain?: ChainReport | undefined
  readonly body: MailBody
}
