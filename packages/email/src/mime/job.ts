// Defines the jobs of the threads that parse mail, and the results.
import type { ChainReport } from '../arc/chain.ts'
import type { MailBody } from '../body/mail-body.ts'
import type { MailLimits } from '../config/limits.ts'
import type { createKeyReader } from '../dkim/key-cache.ts'
import type { SignatureReport, TxtAnswer } from '../dkim/signature-report.ts'

/**
 * The work on one message in a thread that may be killed. The thread uses no network, so the DNS answers are part of
 * the job.
 */
export interface MimeJob {
  readonly octets: Uint8Array
  /** The DNS answers for `selector._domainkey.domain`. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** The time of the check, ms since the epoch. */
  readonly now: number
  /** The offsets of header fields that are ignored, such as signatures beyond the limit. */
  readonly ignoredRanges: readonly (readonly [start: number, end: number])[]
  /** The signatures, if they are verified already. */
  readonly signatures?: readonly SignatureReport[] | undefined
  /** True if the message has an ARC chain to verify. */
  readonly isSealed?: boolean | undefined
  /** True if a trusted third party proves the author, regardless of the signatures here. */
  readonly isVouched?: boolean | undefined
  /** True if the proof may not cover the fields that describe the structure of the body. */
  readonly isStructureUnsigned?: boolean | undefined
  /** True for forwarded mail, which keeps its quotes. */
  readonly keepsQuotes: boolean
}

/** The signatures and the body of a message. */
export interface MimeResult {
  readonly signatures: readonly SignatureReport[]
  readonly chain?: ChainReport | undefined
  readonly body: MailBody
}

/** The dependencies of every job. */
export interface MimeReadingDeps {
  readonly limits: MailLimits
  readonly readKey: ReturnType<typeof createKeyReader>
}

/**
 * Copies bytes to memory of their own. Small buffers share one block of memory, and transferring a buffer to a thread
 * transfers its whole block.
 */
export function copyToOwnMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwn = bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}

/** The options for reading the body of a message. */
export interface BodyOptions {
  /** True for forwarded mail, which is about its quotes. */
  readonly keepsQuotes: boolean
  /** True if the fields that describe the structure of the body are unsigned and the body is signed. */
  readonly isStructureUnsigned: boolean
  /** True in a thread that may be stopped, and that may read for long. */
  readonly hasDeadline?: boolean | undefined
  readonly limits: MailLimits
}

export type ParsedBody = Omit<MailBody, 'digest'>
