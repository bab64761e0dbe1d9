// Declares the members, limits and errors that both versions of identity evidence share.
import type { EvidenceCode } from '@postern/pipeline'
import { z } from 'zod'

/** Matches a name, which contains no characters that two readers could read differently: controls, blanks and invisible characters. */
const namePattern = /^[^\p{C}\p{Z}]+$/u

/** Matches `.` and `..` segments, by which a path could begin with a prefix and still lead outside of it. */
const dotSegmentPattern = /(^|[/:])\.\.?([/:]|$)/

/** The schema of a method, an assurance, or the name of a key. */
export const nameSchema = z.string().min(1).max(256).regex(namePattern)

export const subjectSchema = z
  .string()
  .min(1)
  .max(512)
  .regex(namePattern)
  .refine(subject => !dotSegmentPattern.test(subject))

export const principalsSchema = z.array(subjectSchema).max(16)

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** The schema of an RFC 3339 time with its zone. */
export const timeSchema = z
  .string()
  .max(40)
  .refine(text => timePattern.test(text) && !Number.isNaN(Date.parse(text)))

/** The schema of any object that is no array. */
export const objectSchema = z.record(z.string(), z.unknown())

/** Describes the position of an error in evidence, without its content. */
export function describeIssue({ issues: [issue] }: z.ZodError): string {
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 60)
  return path === '' ? 'it is incomplete' : `its member ${path} is not valid`
}

/** Invalid evidence. The operator sees `code` and `message`, which never quote the evidence. */
export class EvidenceError extends Error {
  override readonly name = 'EvidenceError'
  readonly code: EvidenceCode

  constructor(code: EvidenceCode, reason: string, options: ErrorOptions = {}) {
    super(reason, options)
    this.code = code
  }
}

/** The limits of each carrier of one message, in bytes of JSON and entries (MN-6.5). */
export const carrierLimits = { carrierBytes: 64 * 1024, entryBytes: 32 * 1024, entries: 4 } as const

/** The longest and the usual lifetime of evidence, and the tolerated difference between clocks, ms. */
export const evidenceLifetimes = { maxMs: 10 * 60_000, defaultMs: 5 * 60_000, skewMs: 60_000 } as const

/** The limits of a request for one key document, whose host the operator trusts. */
export const documentRequest = {
  timeoutMs: 3_000,
  maxBytes: 64 * 1024,
  redirects: 0,
  headers: { accept: 'application/did+json, application/json' },
} as const
