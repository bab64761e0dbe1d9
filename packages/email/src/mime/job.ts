import type { ChainReport } from '../authenticate/arc-chain.ts'
import type { MailBody } from '../body/mail-body.ts'
import type { MailLimits } from '../config/limits.ts'
import type { SignatureReport, TxtAnswer } from '../dkim/report.ts'
import type { createKeyReader } from '../dkim/verify.ts'

/** Everything heavy about one message, done in a thread that may be killed. It has no way out: DNS is settled before. */
export interface MimeJob {
  readonly octets: Uint8Array
  /** Answers for `selector._domainkey.domain`. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** ms since the epoch */
  readonly now: number
  /** Offsets of header fields that are left out of the judgement (signatures beyond the cap). */
  readonly ignored: readonly (readonly [start: number, end: number])[]
  /** Its signatures, where they were verified before. */
  readonly signatures?: readonly SignatureReport[] | undefined
  /** Whether there is an ARC chain to verify. */
  readonly isSealed?: boolean | undefined
  /** A trusted third party proves the author, whatever the signature says here. */
  readonly isVouched?: boolean | undefined
  /** A signature covers the body, and not how it is put together. */
  readonly isLoose?: boolean | undefined
  /** Forwarded mail keeps what it quotes. */
  readonly keepsQuotes: boolean
}

export interface MimeResult {
  readonly signatures: readonly SignatureReport[]
  readonly chain?: ChainReport | undefined
  readonly body: MailBody
}

export interface ReadingDeps {
  readonly limits: MailLimits
  readonly readKey: ReturnType<typeof createKeyReader>
}

/**
 * The same bytes in memory of their own. Small buffers are cut from a common one, and a thread that is sent one of them is sent the whole of
 * that.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwn = bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}

export interface BodyOptions {
  /** A forwarding is about what it quotes. */
  readonly keepsQuotes: boolean
  /** The fields that give the structure of the body are unsigned, and the body is signed. */
  readonly isLoose: boolean
  readonly limits: MailLimits
}

export type ReadBody = Omit<MailBody, 'digest'>
