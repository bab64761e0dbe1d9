// Reads a simple message at once, on the thread that asks.

import type { TxtAnswer } from '../dkim/report.ts'
import { exceedsMimeLimits, measureMime } from '../entity/shape.ts'
import { digestContent } from '../mail/content-digest.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import { emptyBody, finishBody, isStructureField } from './finish-body.ts'
import type { BodyOptions, MimeJob, MimeResult, ParsedBody, ReadingDeps } from './job.ts'
import { readSimpleMime } from './simple-mime.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'
import { hasLooseStructure, verifyJob } from './verify-job.ts'

/**
 * Reads a message at once, on the thread that asks. It returns the job with its results so far if a thread that may be
 * killed must read the message. `header` is that of the octets of the job.
 */
export type SimpleReader = (job: MimeJob, header?: HeaderBlock) => Promise<MimeResult | MimeJob>

/** The largest simple message in octets. All work on a larger one may take long. */
const maxOctets = 64 * 1024

/**
 * Creates the reader. A simple message is small and all text, so it takes less time to read than to hand to a thread
 * and back.
 */
export function createSimpleReader(deps: ReadingDeps): SimpleReader {
  const isCostly = (answer: TxtAnswer) => {
    const record = 'records' in answer ? deps.readKey((answer.records[0] ?? []).join('')) : undefined
    return record !== undefined && 'key' in record && record.isCostly
  }
  return async (job, scannedHeader) => {
    if (job.octets.length > maxOctets || job.isSealed || Object.values(job.keys).some(isCostly)) return job
    const { octets, header, signatures, limits } = verifyJob(job, deps, scannedHeader)
    const isLoose = hasLooseStructure(job, { signatures })
    const body = await readSimpleBody(octets, header, { keepsQuotes: job.keepsQuotes, isLoose, limits })
    return body ? { signatures, body: { ...body, digest: digestContent(octets, header) } } : { ...job, signatures }
  }
}

/**
 * Returns the content of a message that consists of texts, without the parser and so at once. The result is that of
 * `readMailBody`. It returns undefined for any other message.
 */
export async function readSimpleBody(
  octets: Buffer,
  header: HeaderBlock,
  options: BodyOptions,
): Promise<ParsedBody | undefined> {
  if (declaresShape.test(findField(header, 'content-type') ?? '')) {
    const shape = measureMime(octets, header, options.limits)
    if (exceedsMimeLimits(shape, options.limits)) return emptyBody('mime_limits')
    if (shape.corrections.length > 0) return undefined
  }
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  const fields = structure ? structure.fields.map(readStructureField) : header.fields.filter(isStructureField)
  const mail = await readSimpleMime(octets, { fields, bodyStart: header.bodyStart }, options.limits)
  return mail && finishBody({ ...mail, attachments: [] }, header, structure, options)
}

/** Types of messages with parts, or without a charset. All other messages are one part. */
const declaresShape = /^(?:multipart\/|message\/|text\/html\b)/i

function readStructureField(line: string): HeaderField {
  const colon = line.indexOf(':')
  return { name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim(), start: 0, end: 0 }
}
