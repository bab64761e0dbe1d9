// Reads simple messages on the calling thread, without a worker thread.

import type { TxtAnswer } from '../dkim/signature-report.ts'
import { exceedsMimeLimits, measureMime } from '../entity/measure-mime.ts'
import { digestContent } from '../mail/content-digest.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import { createEmptyBody, finishBody, isStructureField } from './finish-body.ts'
import type { BodyOptions, MimeJob, MimeReadingDeps, MimeResult, ParsedBody } from './job.ts'
import { readSimpleMime } from './simple-mime.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'
import { hasUnsignedStructure, verifyJob } from './verify-job.ts'

/**
 * Reads a message on the calling thread. If only a worker thread can read the message, it returns the job with the
 * results so far. `header` is that of the octets of the job.
 */
export type SimpleReader = (job: MimeJob, header?: HeaderBlock) => Promise<MimeResult | MimeJob>

/** The largest simple message, in octets. Reading a larger message may take long. */
const maxOctets = 64 * 1024

/**
 * Creates the reader. A simple message is small and consists of texts and plain files, so reading it takes less time than handing it to
 * a worker thread.
 */
export function createSimpleReader(deps: MimeReadingDeps): SimpleReader {
  const isSlowToVerify = (answer: TxtAnswer) => {
    const record = 'records' in answer ? deps.readKey((answer.records[0] ?? []).join('')) : undefined
    return record !== undefined && 'key' in record && record.isSlowToVerify
  }
  return async (job, scannedHeader) => {
    if (job.octets.length > maxOctets || job.isSealed || Object.values(job.keys).some(isSlowToVerify)) return job
    const { octets, header, signatures, limits } = verifyJob(job, deps, scannedHeader)
    const isStructureUnsigned = hasUnsignedStructure(job, { signatures })
    const body = await readSimpleBody(octets, header, {
      keepsQuotes: job.keepsQuotes,
      isStructureUnsigned,
      limits,
    })
    return body ? { signatures, body: { ...body, digest: digestContent(octets, header) } } : { ...job, signatures }
  }
}

/**
 * Returns the content of a message that consists of texts and plain files, without the parser. The result equals that of
 * `readMailBody`. It returns undefined for any other message.
 */
export async function readSimpleBody(
  octets: Buffer,
  header: HeaderBlock,
  options: BodyOptions,
): Promise<ParsedBody | undefined> {
  if (structuredTypePattern.test(findField(header, 'content-type') ?? '')) {
    const measurement = measureMime(octets, header, options.limits)
    if (exceedsMimeLimits(measurement, options.limits)) return createEmptyBody('mime_limits')
    if (measurement.corrections.length > 0) return undefined
  }
  const structure = options.isStructureUnsigned ? readUnsignedStructure(octets, header, options.limits) : undefined
  const fields = structure ? structure.fields.map(readStructureField) : header.fields.filter(isStructureField)
  const mail = await readSimpleMime(octets, { fields, bodyStart: header.bodyStart }, options)
  return mail && finishBody(mail, header, structure, options)
}

/**
 * Matches the types of messages that have parts, and of HTML, which may declare its charset itself. All other messages
 * are one part.
 */
const structuredTypePattern = /^(?:multipart\/|message\/|text\/html\b)/i

function readStructureField(line: string): HeaderField {
  const colon = line.indexOf(':')
  return { name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim(), start: 0, end: 0 }
}
