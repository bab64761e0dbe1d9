// Reads the verdict of a trusted server in front of this one, and finds the fields that it proves.
import type { UnprovenMail } from '../intake/unproven-mail.ts'
import { removeRanges, toBuffer } from '../mail/buffers.ts'
import type { HeaderField } from '../mail/header.ts'
import { fieldValues } from '../mail/header.ts'
import { allowsAppendedText, readSharedCoverage, selectCovered } from '../signatures/coverage.ts'
import type { TrustedVerdict } from './evidence.ts'
import type { UpstreamVerdict } from './upstream.ts'
import { resultsFieldName } from './upstream.ts'

/**
 * Returns the verdict of a trusted server that verified the author. Such a verdict does not name the signature that
 * passed, so it covers only the fields that all signatures cover. It proves nothing if a signature allows text after
 * the signed part of the body.
 */
export function findTrustedVerdict(
  { raw: { envelope }, header, addresses: { author } }: UnprovenMail,
  upstream: UpstreamVerdict | undefined,
): TrustedVerdict | undefined {
  if (allowsAppendedText(header, author.domain)) return undefined
  const sharedCoverage = readSharedCoverage(header, author.domain)
  // Only the fields that all signatures cover show when the author wrote and to whom, because the server does not name
  // the signature that passed. Without a signature of the author, all fields count.
  const timingCoverage = sharedCoverage ?? 'all'
  if (upstream?.isProven) {
    const issuer = `authserv:${upstream.authservId}`
    return { issuer, coverage: sharedCoverage ?? (upstream.isBySpfOnly ? 'all' : ['from']), timingCoverage }
  }
  return envelope.source?.hasDmarcPass
    ? { issuer: envelope.source.name, coverage: timingCoverage, timingCoverage }
    : undefined
}

/** Returns the mail without verdicts of other servers, which readers could mistake for verdicts of this gateway. */
export function removeForeignResults({ raw, header }: UnprovenMail, trustedField: HeaderField | undefined): Uint8Array {
  const foreignFields = header.fields.filter(field => field.name === resultsFieldName && field !== trustedField)
  return removeRanges(
    toBuffer(raw.octets),
    foreignFields.map(({ start, end }) => [start, end]),
  )
}

/**
 * Returns true if the proof that the mail turns out to have may not cover the fields that decide the structure of the
 * body.
 */
export function mayLeaveStructureUnsigned(
  { header, addresses: { author } }: UnprovenMail,
  isSealed: boolean,
  trustedVerdict: TrustedVerdict | undefined,
): boolean {
  const coverage = readSharedCoverage(header, author.domain, isSealed) ?? trustedVerdict?.coverage ?? 'all'
  const signedHeader = selectCovered(header, coverage)
  const structureFields = ['content-type', 'content-transfer-encoding']
  return structureFields.some(name => fieldValues(signedHeader, name).length < fieldValues(header, name).length)
}
